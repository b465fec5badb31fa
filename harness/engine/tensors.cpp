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
  // DLPack's codes: 2 float, 4 bfloat, 10 float8_e4m3fn, 12 float8_e5m2.
  switch (dtype) {
    case ATTN_FP32: return {2, 32, 1};
    case ATTN_FP16: return {2, 16, 1};
    case ATTN_BF16: return {4, 16, 1};
    case ATTN_FP8_E4M3: return {10, 8, 1};
    default: return {12, 8, 1};
  }
}
constexpr DLDataType kDlBool{6, 8, 1}, kDlInt32{0, 32, 1}, kDlFloat{2, 32, 1};

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

double Tensors::bytes_needed(const Case& c) {
  const auto product = [](std::int64_t a, std::int64_t b, std::int64_t s, std::int64_t d) {
    return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(s) * static_cast<double>(d);
  };
  const auto size = static_cast<double>(element_bytes(static_cast<std::int32_t>(c.dtype)));
  const auto size_kv = static_cast<double>(element_bytes(static_cast<std::int32_t>(c.dtype_kv)));
  double bytes = size * (product(c.batch, c.heads, c.seq_q, c.head_dim) + product(c.batch, c.heads, c.seq_q, c.head_dim_v)) +
                 size_kv * product(c.batch, c.heads_kv, c.seq_kv, c.head_dim + c.head_dim_v);
  if (c.mask == MaskKind::tensor) {
    const auto& full = c.mask_tensor.full;
    bytes += (c.mask_tensor.dtype == MaskDType::boolean ? 1.0 : size) *
             product(full[0] ? c.batch : 1, full[1] ? c.heads : 1, full[2] ? c.seq_q : 1, full[3] ? c.seq_kv : 1);
  }
  return bytes;
}

void Tensors::make(Tensor& tensor, const char* name, std::int32_t dtype, TensorLayout layout, DLDataType type) {
  tensor.layout = std::move(layout);
  tensor.storage = std::make_shared<GuardedBuffer>(device_, name, static_cast<std::size_t>(tensor.layout.elements) * element_bytes(dtype));
  tensor.view = {tensor.storage->data(), dtype, tensor.layout.shape, tensor.layout.strides, {}};
  if (const auto& rows = tensor.layout.rows; !rows.empty()) {
    tensor.row_table = std::make_shared<GuardedBuffer>(device_, name, rows.size() * sizeof(std::int64_t));
    device_.write(tensor.row_table->data(), rows.data(), rows.size() * sizeof(std::int64_t));
    tensor.view.rows = {rows.data(), reinterpret_cast<const std::int64_t*>(tensor.row_table->data())};
  }
  point(tensor, type);
}

void Tensors::point(Tensor& tensor, DLDataType type) {
  tensor.dl.data = tensor.view.data;
  tensor.dl.device = device_.dl();
  tensor.dl.dtype = type;
  tensor.dl.ndim = static_cast<std::int32_t>(tensor.layout.abi_shape.size());
  tensor.dl.shape = tensor.layout.abi_shape.data();
  tensor.dl.strides = tensor.layout.abi_strides.data();
  tensor.dl.byte_offset = 0;
}

// Of elements of 4 bytes.
void Tensors::make_vector(Tensor& tensor, const char* name, const void* values, std::size_t count, DLDataType type) {
  tensor.storage = std::make_shared<GuardedBuffer>(device_, name, count * 4);
  tensor.view.data = tensor.storage->data();
  device_.write(tensor.storage->data(), values, count * 4);
  tensor.layout.abi_shape = {static_cast<std::int64_t>(count)};
  tensor.layout.abi_strides = {1};
  point(tensor, type);
}

Tensors::Tensors(Device& device, const Case& value) : device_(device), value_(value) {
  if (const auto why = impossible(value_)) throw Error(*why);
  abi_.struct_size = sizeof abi_;
  make_operands();
  if (value_.pass != Pass::forward) make_gradients();
  if (value_.mask == MaskKind::tensor) make_mask();
  make_tables();
}

void Tensors::make_operands() {
  const Case& c = value_;
  const auto dtype = static_cast<std::int32_t>(c.dtype), dtype_kv = static_cast<std::int32_t>(c.dtype_kv);
  const std::array<std::int64_t, 4> q_shape{c.batch, c.heads, c.seq_q, c.head_dim}, o_shape{c.batch, c.heads, c.seq_q, c.head_dim_v};
  const auto of_queries = [&](const std::array<std::int64_t, 4>& shape, StrideKind kind) {
    return c.layout == Layout::thd ? ragged_layout(shape, c.lengths_q, kind) : dense_layout(shape, c.layout, kind);
  };
  const auto of_keys = [&](std::int64_t dim, StrideKind kind) {
    const std::array<std::int64_t, 4> shape{c.batch, c.heads_kv, c.seq_kv, dim};
    if (c.page_size > 0) return paged_layout(shape, c, kind);
    return c.layout == Layout::thd ? ragged_layout(shape, c.lengths_kv, kind) : dense_layout(shape, c.layout, kind);
  };
  if (c.layout == Layout::packed_qkv) {
    make(q_, "the packed q, k and v", dtype, dense_layout({c.batch, c.heads + 2 * c.heads_kv, c.seq_q, c.head_dim}, c.layout, StrideKind::dense), dl_type(dtype));
    std::int64_t first_head = 0;
    for (Tensor* part : {&q_, &k_, &v_}) {
      if (part != &q_) *part = q_;
      part->layout.shape[1] = part->layout.abi_shape[1] = part->view.shape[1] = part == &q_ ? c.heads : c.heads_kv;
      part->view.data = q_.storage->data() + first_head * c.head_dim * static_cast<std::int64_t>(element_bytes(dtype));
      first_head += part->view.shape[1];
      point(*part, dl_type(dtype));
    }
  } else {
    make(q_, "q", dtype, of_queries(q_shape, c.strides.q), dl_type(dtype));
    make(k_, "k", dtype_kv, of_keys(c.head_dim, c.strides.k), dl_type(dtype_kv));
    make(v_, "v", dtype_kv, of_keys(c.head_dim_v, c.strides.v), dl_type(dtype_kv));
  }
  make(o_, "o", dtype, of_queries(o_shape, c.strides.o), dl_type(dtype));
  abi_.q = &q_.dl;
  abi_.k = &k_.dl;
  abi_.v = &v_.dl;
  abi_.o = &o_.dl;
}

void Tensors::make_gradients() {
  const Case& c = value_;
  const auto dtype = static_cast<std::int32_t>(c.dtype), dtype_kv = static_cast<std::int32_t>(c.dtype_kv);
  const auto laid = [&](const std::array<std::int64_t, 4>& shape, const std::vector<std::int64_t>& lengths, StrideKind kind) {
    const Layout layout = c.layout == Layout::packed_qkv ? Layout::bshd : c.layout;
    return layout == Layout::thd ? ragged_layout(shape, lengths, kind) : dense_layout(shape, layout, kind);
  };
  constexpr StrideKind kinds[] = {StrideKind::dense, StrideKind::transposed, StrideKind::expanded};  // as GradLayout
  make(dout_, "dout", dtype, laid(o_.view.shape, c.lengths_q, kinds[static_cast<int>(c.grad_layout)]), dl_type(dtype));
  make(dq_, "dq", dtype, laid(q_.view.shape, c.lengths_q, StrideKind::dense), dl_type(dtype));
  make(dk_, "dk", dtype_kv, laid(k_.view.shape, c.lengths_kv, StrideKind::dense), dl_type(dtype_kv));
  make(dv_, "dv", dtype_kv, laid(v_.view.shape, c.lengths_kv, StrideKind::dense), dl_type(dtype_kv));
  make(lse_, "lse", ATTN_FP32, dense_layout({c.batch, c.heads, c.seq_q, 1}, Layout::bhsd, StrideKind::dense), kDlFloat);
  lse_.layout.abi_shape.pop_back();
  lse_.layout.abi_strides.pop_back();
  point(lse_, kDlFloat);
  abi_.dout = &dout_.dl;
  abi_.dq = &dq_.dl;
  abi_.dk = &dk_.dl;
  abi_.dv = &dv_.dl;
  abi_.lse = &lse_.dl;
}

void Tensors::make_mask() {
  const Case& c = value_;
  const auto& full = c.mask_tensor.full;
  const std::array<std::int64_t, 4> stored{full[0] ? c.batch : 1, full[1] ? c.heads : 1, full[2] ? c.seq_q : 1, full[3] ? c.seq_kv : 1};
  const bool boolean = c.mask_tensor.dtype == MaskDType::boolean;
  const auto dtype = static_cast<std::int32_t>(c.dtype);
  make(mask_, "mask", boolean ? kBoolByte : dtype, dense_layout(stored, Layout::bhsd, StrideKind::dense), boolean ? kDlBool : dl_type(dtype));
  // Broadcast: the logical shape with stride 0 where one element serves all.
  mask_.layout.abi_shape = {c.batch, c.heads, c.seq_q, c.seq_kv};
  for (std::size_t i = 0; i < 4; ++i)
    if (!full[i]) mask_.layout.abi_strides[i] = 0;
  point(mask_, boolean ? kDlBool : dl_type(dtype));
  abi_.mask = &mask_.dl;
}

void Tensors::make_tables() {
  const Case& c = value_;
  if (const auto slopes = resolved_slopes(c); !slopes.empty()) {
    const std::vector<float> values(slopes.begin(), slopes.end());
    make_vector(alibi_, "alibi", values.data(), values.size(), kDlFloat);
    abi_.alibi = &alibi_.dl;
  }
  const auto integers = [&](Tensor& tensor, const char* name, const std::vector<std::int32_t>& values) {
    make_vector(tensor, name, values.data(), values.size(), kDlInt32);
    return &tensor.dl;
  };
  const auto narrow = [](const std::vector<std::int64_t>& values) { return std::vector<std::int32_t>(values.begin(), values.end()); };
  if (!c.lengths_q.empty()) abi_.lengths_q = integers(lengths_q_, "lengths_q", narrow(c.lengths_q));
  if (!c.lengths_kv.empty()) abi_.lengths_kv = integers(lengths_kv_, "lengths_kv", narrow(c.lengths_kv));
  if (c.layout == Layout::thd) {
    abi_.starts_q = integers(starts_q_, "starts_q", starts_of(c.lengths_q));
    if (c.page_size == 0) abi_.starts_kv = integers(starts_kv_, "starts_kv", starts_of(c.lengths_kv));
  }
  if (c.page_size > 0) {
    const PageTable table = page_table(c);
    abi_.page_table = integers(page_table_, "page_table", table.pages);
    page_table_.layout.abi_shape = {c.batch, table.pages_per_entry};
    page_table_.layout.abi_strides = {table.pages_per_entry, 1};
    point(page_table_, kDlInt32);
  }
}

void Tensors::fill_storage(const Tensor& tensor, std::uint32_t bits) {
  const std::size_t size = element_bytes(tensor.view.dtype);
  device_.fill(tensor.storage->data(), bits, size, tensor.storage->bytes() / size);
}

void Tensors::fill(std::uint64_t seed) {
  // Gaps of sliced tensors and what pages hold behind their keys are NaN: a backend that reads them shows it.
  for (Tensor* tensor : {&q_, &k_, &v_, &dout_})
    if (tensor->storage && (tensor->layout.pitch != tensor->layout.shape[3] || !tensor->layout.rows.empty())) fill_storage(*tensor, nan_bits(tensor->view.dtype));
  device_.fill_inputs(value_, seed, q_.view, k_.view, v_.view);
  if (dout_.view) device_.fill_gradient(value_, seed, dout_.view);
  if (mask_.view) device_.fill_mask(value_, seed, mask_.view);
  fingerprint_ = input_fingerprint();
}

std::uint64_t Tensors::input_fingerprint() const {
  std::uint64_t hash = 0;
  for (const Tensor* tensor : {&q_, &k_, &v_, &dout_, &mask_, &alibi_, &lengths_q_, &lengths_kv_, &starts_q_, &starts_kv_, &page_table_})
    if (tensor->storage) hash = hash * 31 + device_.fingerprint(tensor->storage->data(), tensor->storage->bytes());
  return hash;
}

void Tensors::poison_outputs(Pass pass) {
  const auto poison = [&](Tensor& tensor) {
    if (tensor.storage) fill_storage(tensor, poison_bits(tensor.view.dtype));
  };
  if (pass != Pass::backward) {
    poison(o_);
    poison(lse_);
    if (o_.layout.rows.empty()) o_.layout.abi_strides.assign(o_.layout.strides.begin(), o_.layout.strides.end());  // a backend may have written there
    else o_.layout.abi_strides = {o_.layout.strides[2], o_.layout.strides[1], 1};
    point(o_, dl_type(o_.view.dtype));
  }
  if (pass != Pass::forward)
    for (Tensor* tensor : {&dq_, &dk_, &dv_}) poison(*tensor);
}

// The gaps of a sliced output, which still hold the poison.
std::optional<std::string> Tensors::gap_damage(const Tensor& tensor, const char* name) {
  const std::int64_t dim = tensor.layout.shape[3], pitch = tensor.layout.pitch;
  if (!tensor.storage || pitch == dim) return std::nullopt;
  std::vector<std::byte> stored(tensor.storage->bytes());
  device_.read(stored.data(), tensor.storage->data(), stored.size());
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
    if (tensor->storage)
      if (auto found = tensor->storage->damage()) return found;
  if (auto found = gap_damage(o_, "o")) return found;
  if (input_fingerprint() != fingerprint_) return "wrote into its inputs";
  return std::nullopt;
}

TensorView Tensors::output(bool may_move) const {
  TensorView view = o_.view;
  if (!o_.dl.data) throw Error("pointed o at no memory");
  if (!o_.dl.strides) throw Error("gave o no strides");
  // What a backend may have changed is the memory behind dl.strides, which is ours.
  const std::size_t rank = o_.layout.abi_shape.size();
  const std::array<std::int64_t, 4> laid = rank == 4 ? o_.layout.strides : std::array<std::int64_t, 4>{o_.layout.strides[2], o_.layout.strides[1], 1, 0};
  const bool restrided = !std::equal(laid.begin(), laid.begin() + static_cast<std::ptrdiff_t>(rank), o_.dl.strides);
  const bool moved = o_.dl.data != view.data || o_.dl.byte_offset != 0 || restrided;
  if (moved && !may_move) throw Error("moved o without the flag ATTN_FLAG_OWNS_OUTPUT");
  if (restrided && view.rows) throw Error("gave a ragged o other strides");
  view.data = static_cast<std::byte*>(o_.dl.data) + o_.dl.byte_offset;
  if (!view.rows) std::copy_n(o_.dl.strides, 4, view.strides.begin());
  return view;
}

std::int64_t Tensors::output_bytes() const {
  std::int64_t bytes = 0;
  for (const Tensor* tensor : {&o_, &lse_, &dq_, &dk_, &dv_})
    if (tensor->storage) bytes += static_cast<std::int64_t>(tensor->storage->bytes());
  return bytes;
}

}  // namespace attn
