#include "engine/tensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "engine/inputs.hpp"

namespace attn {
namespace {

DLDataType dl_type(std::int32_t dtype) {
  // DLPack's codes: 2 float, 4 bfloat, 6 bool, 10 float8_e4m3fn, 12 float8_e5m2.
  switch (dtype) {
    case ATTN_FP32: return {2, 32, 1};
    case ATTN_FP16: return {2, 16, 1};
    case ATTN_BF16: return {4, 16, 1};
    case ATTN_FP8_E4M3: return {10, 8, 1};
    case kBoolByte: return {6, 8, 1};
    default: return {12, 8, 1};
  }
}
constexpr DLDataType kDlInt32{0, 32, 1}, kDlFloat{2, 32, 1};

std::uint32_t nan_bits(std::int32_t dtype) {
  std::uint32_t bits = 0;
  store_element(&bits, 0, dtype, std::bit_cast<float>(0x7fc00000u));
  return bits;
}

}  // namespace

std::uint32_t poison_bits(std::int32_t dtype) {
  switch (dtype) {
    case ATTN_FP32: return 0x7fa5a5a5u;  // signalling NaNs: arithmetic gives quiet ones
    case ATTN_FP16: return 0x7da5u;
    case ATTN_BF16: return 0x7fa5u;
    default: return 0xffu;
  }
}

std::vector<Tensors::Planned> Tensors::plan(const Case& c) {
  if (const auto why = impossible(c)) throw Error(*why);
  std::vector<Planned> plan;
  const auto dtype = static_cast<std::int32_t>(c.dtype), dtype_kv = static_cast<std::int32_t>(c.dtype_kv);
  const auto add = [&](Tensor Tensors::*tensor, DLTensor* attn_tensors::*shown, const char* name, std::int32_t of, TensorLayout layout) {
    plan.push_back({tensor, shown, name, of, dl_type(of), std::move(layout)});
  };
  const auto add_table = [&](Tensor Tensors::*tensor, DLTensor* attn_tensors::*shown, const char* name, DLDataType type, const std::vector<std::int64_t>& shape) {
    plan.push_back({tensor, shown, name, ATTN_FP32, type, table_layout(shape)});
  };

  if (c.layout == Layout::packed_qkv) {
    add(&Tensors::q_, &attn_tensors::q, "the packed q, k and v", dtype,
        dense_layout({c.batch, c.heads + 2 * c.heads_kv, c.seq_q, c.head_dim}, c.layout, StrideKind::dense));
  } else {
    add(&Tensors::q_, &attn_tensors::q, "q", dtype, query_layout(c, c.head_dim, c.strides.q));
    add(&Tensors::k_, &attn_tensors::k, "k", dtype_kv, key_layout(c, c.head_dim, c.strides.k));
    add(&Tensors::v_, &attn_tensors::v, "v", dtype_kv, key_layout(c, c.head_dim_v, c.strides.v));
  }
  add(&Tensors::o_, &attn_tensors::o, "o", dtype, query_layout(c, c.head_dim_v, c.strides.o));

  if (c.pass != Pass::forward) {
    constexpr StrideKind kinds[] = {StrideKind::dense, StrideKind::transposed, StrideKind::expanded};  // as GradLayout
    add(&Tensors::dout_, &attn_tensors::dout, "dout", dtype, query_layout(c, c.head_dim_v, kinds[static_cast<int>(c.grad_layout)]));
    add(&Tensors::dq_, &attn_tensors::dq, "dq", dtype, query_layout(c, c.head_dim, StrideKind::dense));
    add(&Tensors::dk_, &attn_tensors::dk, "dk", dtype_kv, key_layout(c, c.head_dim, StrideKind::dense));
    add(&Tensors::dv_, &attn_tensors::dv, "dv", dtype_kv, key_layout(c, c.head_dim_v, StrideKind::dense));
    TensorLayout lse = dense_layout({c.batch, c.heads, c.seq_q, 1}, Layout::bhsd, StrideKind::dense);
    lse.abi_shape.pop_back();
    lse.abi_strides.pop_back();
    add(&Tensors::lse_, &attn_tensors::lse, "lse", ATTN_FP32, std::move(lse));
  }

  if (c.mask == MaskKind::tensor) {
    const auto& full = c.mask_tensor.full;
    const std::array<std::int64_t, 4> logical{c.batch, c.heads, c.seq_q, c.seq_kv};
    std::array<std::int64_t, 4> stored = logical;
    for (std::size_t i = 0; i < 4; ++i)
      if (!full[i]) stored[i] = 1;
    TensorLayout mask = dense_layout(stored, Layout::bhsd, StrideKind::dense);
    mask.abi_shape.assign(logical.begin(), logical.end());
    for (std::size_t i = 0; i < 4; ++i)
      if (!full[i]) mask.abi_strides[i] = 0;
    add(&Tensors::mask_, &attn_tensors::mask, "mask", c.mask_tensor.dtype == MaskDType::boolean ? kBoolByte : dtype, std::move(mask));
  }

  if (c.alibi) add_table(&Tensors::alibi_, &attn_tensors::alibi, "alibi", kDlFloat, {c.heads});
  if (!c.lengths_q.empty()) add_table(&Tensors::lengths_q_, &attn_tensors::lengths_q, "lengths_q", kDlInt32, {c.batch});
  if (!c.lengths_kv.empty()) add_table(&Tensors::lengths_kv_, &attn_tensors::lengths_kv, "lengths_kv", kDlInt32, {c.batch});
  if (c.layout == Layout::thd) add_table(&Tensors::starts_q_, &attn_tensors::starts_q, "starts_q", kDlInt32, {c.batch + 1});
  if (c.layout == Layout::thd && c.page_size == 0) add_table(&Tensors::starts_kv_, &attn_tensors::starts_kv, "starts_kv", kDlInt32, {c.batch + 1});
  if (c.page_size > 0) add_table(&Tensors::page_table_, &attn_tensors::page_table, "page_table", kDlInt32, {c.batch, page_counts(c).per_entry});
  return plan;
}

double Tensors::bytes_needed(const Case& value) {
  double bytes = 0;
  for (const Planned& planned : plan(value)) bytes += TensorMemory::bytes_needed(planned.dtype, planned.layout);
  return bytes;
}

Tensors::Tensors(Device& device, const Case& value, bool outputs_move) : device_(device), value_(value), outputs_move_(outputs_move) {
  abi_.struct_size = sizeof abi_;
  for (Planned& planned : plan(value_)) make(std::move(planned));
  if (value_.layout == Layout::packed_qkv) part_packed();
  write_tables();
}

void Tensors::make(Planned planned) {
  Tensor& tensor = this->*planned.tensor;
  tensor.memory = std::make_shared<TensorMemory>(device_, planned.name, planned.dtype, planned.layout);
  tensor.view = tensor.memory->view();
  tensor.layout = std::move(planned.layout);
  tensor.shown_strides = tensor.layout.abi_strides;
  tensor.dl.dtype = planned.type;
  point(tensor);
  abi_.*planned.shown = &tensor.dl;
}

void Tensors::point(Tensor& tensor) {
  tensor.dl.data = tensor.view.data;
  tensor.dl.device = device_.dl();
  tensor.dl.ndim = static_cast<std::int32_t>(tensor.layout.abi_shape.size());
  tensor.dl.shape = tensor.layout.abi_shape.data();
  tensor.dl.strides = tensor.layout.abi_strides.data();
  tensor.dl.byte_offset = 0;
}

// q holds all heads: its own, then k's and v's.
void Tensors::part_packed() {
  k_ = v_ = q_;
  abi_.k = &k_.dl;
  abi_.v = &v_.dl;
  std::int64_t first_head = 0;
  for (Tensor* part : {&q_, &k_, &v_}) {
    const std::int64_t heads = part == &q_ ? value_.heads : value_.heads_kv;
    part->layout.shape[1] = part->layout.abi_shape[1] = part->view.shape[1] = heads;
    part->view.data = q_.memory->data() + first_head * value_.head_dim * static_cast<std::int64_t>(element_bytes(q_.view.dtype));
    first_head += heads;
    point(*part);
  }
}

void Tensors::write_tables() {
  const auto write = [&](const Tensor& table, const auto& values) {
    if (table.memory) device_.write(table.memory->data(), values.data(), values.size() * sizeof values[0]);
  };
  const auto narrow = [](const std::vector<std::int64_t>& values) { return std::vector<std::int32_t>(values.begin(), values.end()); };
  const std::vector<double> slopes = resolved_slopes(value_);
  write(alibi_, std::vector<float>(slopes.begin(), slopes.end()));
  write(lengths_q_, narrow(value_.lengths_q));
  write(lengths_kv_, narrow(value_.lengths_kv));
  write(starts_q_, starts_of(value_.lengths_q));
  write(starts_kv_, starts_of(value_.lengths_kv));
  if (page_table_.memory) write(page_table_, page_table(value_));
}

void Tensors::fill_storage(const Tensor& tensor, std::uint32_t bits) {
  const std::size_t size = element_bytes(tensor.view.dtype);
  device_.fill(tensor.memory->data(), bits, size, tensor.memory->bytes() / size);
}

void Tensors::fill(std::uint64_t seed) {
  // Gaps of sliced tensors and what pages hold behind their keys are NaN: a backend that reads them shows it.
  for (Tensor* tensor : {&q_, &k_, &v_, &dout_})
    if (tensor->memory && (tensor->layout.pitch != tensor->layout.shape[3] || tensor->view.rows)) fill_storage(*tensor, nan_bits(tensor->view.dtype));
  device_.fill_inputs(value_, seed, q_.view, k_.view, v_.view);
  if (dout_.view) device_.fill_gradient(value_, seed, dout_.view);
  if (mask_.view) device_.fill_mask(value_, seed, mask_.view);
  fingerprint_ = input_fingerprint();
}

std::uint64_t Tensors::input_fingerprint() const {
  std::uint64_t hash = 0;
  for (const Tensor* tensor : {&q_, &k_, &v_, &dout_, &mask_, &alibi_, &lengths_q_, &lengths_kv_, &starts_q_, &starts_kv_, &page_table_})
    if (tensor->memory) hash = hash * 31 + device_.fingerprint(tensor->memory->data(), tensor->memory->bytes());
  return hash;
}

void Tensors::poison_outputs(Pass pass) {
  const auto poison = [&](Tensor& tensor) {
    if (!tensor.memory) return;
    fill_storage(tensor, poison_bits(tensor.view.dtype));
    tensor.view = tensor.memory->view();
    tensor.layout.abi_strides = tensor.shown_strides;
    point(tensor);
  };
  if (pass != Pass::backward)
    for (Tensor* tensor : {&o_, &lse_}) poison(*tensor);
  if (pass != Pass::forward)
    for (Tensor* tensor : {&dq_, &dk_, &dv_}) poison(*tensor);
}

// The gaps of a sliced output, which still hold the poison.
std::optional<std::string> Tensors::gap_damage(const Tensor& tensor, const char* name) {
  const std::int64_t dim = tensor.layout.shape[3], pitch = tensor.layout.pitch;
  if (!tensor.memory || pitch == dim) return std::nullopt;
  std::vector<std::byte> stored(tensor.memory->bytes());
  device_.read(stored.data(), tensor.memory->data(), stored.size());
  const std::uint32_t bits = poison_bits(tensor.view.dtype);
  const std::size_t size = element_bytes(tensor.view.dtype);
  for (std::int64_t row = 0; row < tensor.layout.elements / pitch; ++row)
    for (std::int64_t d = dim; d < pitch; ++d)
      if (std::memcmp(stored.data() + static_cast<std::size_t>(row * pitch + d) * size, &bits, size) != 0)
        return fmt::format("wrote into the gap between rows of {} (row {} of the storage, element {})", name, row, d);
  return std::nullopt;
}

std::optional<std::string> Tensors::damage() {
  for (Tensor* tensor : {&o_, &lse_, &dq_, &dk_, &dv_, &q_, &k_, &v_, &dout_, &mask_, &alibi_, &lengths_q_, &lengths_kv_, &starts_q_, &starts_kv_, &page_table_})
    if (tensor->memory)
      if (auto found = tensor->memory->damage()) return found;
  if (auto found = gap_damage(o_, "o")) return found;
  if (input_fingerprint() != fingerprint_) return "wrote into its inputs";
  return std::nullopt;
}

void Tensors::locate_outputs() {
  const std::pair<Tensor*, const char*> outputs[] = {{&o_, "o"}, {&lse_, "lse"}, {&dq_, "dq"}, {&dk_, "dk"}, {&dv_, "dv"}};
  for (const auto& [tensor, name] : outputs)
    if (tensor->memory) locate(*tensor, name);
}

void Tensors::locate(Tensor& tensor, const char* name) {
  const DLTensor& dl = tensor.dl;
  if (!dl.data) throw Error(fmt::format("pointed {} at no memory", name));
  if (!dl.strides) throw Error(fmt::format("gave {} no strides", name));
  tensor.view = tensor.memory->view();
  if (dl.data == tensor.view.data && dl.byte_offset == 0 && std::equal(tensor.shown_strides.begin(), tensor.shown_strides.end(), dl.strides)) return;
  if (!outputs_move_) throw Error(fmt::format("moved {} without the flag ATTN_FLAG_OWNS_OUTPUT", name));
  tensor.view.data = static_cast<std::byte*>(dl.data) + dl.byte_offset;
  if (tensor.view.rows) {  // (tokens, heads, columns)
    tensor.view.strides = {0, dl.strides[1], dl.strides[0], dl.strides[2]};
    if (dl.strides[0] != tensor.shown_strides[0]) tensor.view.rows = moved_rows(tensor, dl.strides[0]);
  } else {
    std::copy_n(dl.strides, tensor.shown_strides.size(), tensor.view.strides.begin());
  }
}

RowTable Tensors::moved_rows(Tensor& tensor, std::int64_t stride) {
  if (!tensor.moved_rows || tensor.moved_rows->stride != stride) {
    std::vector<std::int64_t> rows = tensor.layout.rows();
    for (std::int64_t& row : rows)
      if (row >= 0) row = row / tensor.shown_strides[0] * stride;
    GuardedBuffer table(device_, "the rows of a moved output", rows.size() * sizeof(std::int64_t));
    device_.write(table.data(), rows.data(), table.bytes());
    tensor.moved_rows.reset(new MovedRows{stride, std::move(rows), std::move(table)});
  }
  return {tensor.moved_rows->rows.data(), reinterpret_cast<const std::int64_t*>(tensor.moved_rows->table.data())};
}

std::int64_t Tensors::output_bytes() const {
  std::int64_t bytes = 0;
  for (const Tensor* tensor : {&o_, &lse_, &dq_, &dk_, &dv_})
    if (tensor->memory) bytes += static_cast<std::int64_t>(tensor->memory->bytes());
  return bytes;
}

}  // namespace attn
