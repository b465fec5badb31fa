#include "engine/tensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "engine/inputs.hpp"

namespace attn {
namespace {

constexpr std::int64_t kSlicePitch = 16;  // further elements of each row of a sliced tensor: keeps rows 16-byte aligned in every dtype

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

// The axes (0 batch, 1 heads, 2 seq) from the outermost to the innermost in memory.
std::array<std::size_t, 3> axis_order(Layout layout, StrideKind kind) {
  std::array<std::size_t, 3> order = layout == Layout::bshd || layout == Layout::packed_qkv ? std::array<std::size_t, 3>{0, 2, 1}
                                     : layout == Layout::sbhd                               ? std::array<std::size_t, 3>{2, 0, 1}
                                                                                            : std::array<std::size_t, 3>{0, 1, 2};
  if (kind == StrideKind::transposed)
    for (std::size_t& axis : order) axis = axis == 0 ? 0 : 3 - axis;
  return order;
}

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

void Tensors::make(Tensor& tensor, const char* name, std::int32_t dtype, const std::array<std::int64_t, 4>& shape, Layout layout, StrideKind kind) {
  tensor.view.dtype = dtype;
  tensor.view.shape = shape;
  tensor.pitch = shape[3] + (kind == StrideKind::sliced ? kSlicePitch : 0);
  tensor.view.strides[3] = 1;
  std::int64_t stride = tensor.pitch;
  const auto order = axis_order(layout, kind);
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    const bool expanded = kind == StrideKind::expanded && *axis == 1;
    tensor.view.strides[*axis] = expanded ? 0 : stride;
    if (!expanded) stride *= shape[*axis];
  }
  tensor.storage = std::make_shared<GuardedBuffer>(device_, name, static_cast<std::size_t>(stride) * element_bytes(dtype));
  tensor.view.data = tensor.storage->data();
}

void Tensors::point(Tensor& tensor, DLDataType type) {
  tensor.dl.data = tensor.view.data;
  tensor.dl.device = device_.dl();
  tensor.dl.dtype = type;
  tensor.dl.ndim = static_cast<std::int32_t>(tensor.shape.size());
  tensor.dl.shape = tensor.shape.data();
  tensor.dl.strides = tensor.strides.data();
  tensor.dl.byte_offset = 0;
}

// Of elements of 4 bytes.
void Tensors::make_vector(Tensor& tensor, const char* name, const void* values, std::size_t count, DLDataType type) {
  tensor.storage = std::make_shared<GuardedBuffer>(device_, name, count * 4);
  tensor.view.data = tensor.storage->data();
  device_.write(tensor.storage->data(), values, count * 4);
  tensor.shape = {static_cast<std::int64_t>(count)};
  tensor.strides = {1};
  point(tensor, type);
}

Tensors::Tensors(Device& device, const Case& value) : device_(device), value_(value) {
  const Case& c = value_;
  if (c.layout == Layout::thd) throw Error("layout thd (ragged) is not laid out by this engine yet");
  if (c.page_size > 0) throw Error("pages are not laid out by this engine yet");
  if (c.pass != Pass::forward) throw Error("gradients are not made by this engine yet");
  if (c.dropout != 0) throw Error("dropout is not checked by this engine yet");
  const auto dtype = static_cast<std::int32_t>(c.dtype), dtype_kv = static_cast<std::int32_t>(c.dtype_kv);
  const auto four = [](Tensor& t) {
    t.shape.assign(t.view.shape.begin(), t.view.shape.end());
    t.strides.assign(t.view.strides.begin(), t.view.strides.end());
  };
  if (c.layout == Layout::packed_qkv) {
    make(q_, "the packed q, k and v", dtype, {c.batch, c.heads + 2 * c.heads_kv, c.seq_q, c.head_dim}, c.layout, StrideKind::dense);
    k_ = q_;
    v_ = q_;
    auto* const data = static_cast<std::byte*>(q_.view.data);
    const std::int64_t head_bytes = c.head_dim * static_cast<std::int64_t>(element_bytes(dtype));
    q_.view.shape[1] = c.heads;
    k_.view.shape[1] = v_.view.shape[1] = c.heads_kv;
    k_.view.data = data + c.heads * head_bytes;
    v_.view.data = data + (c.heads + c.heads_kv) * head_bytes;
  } else {
    make(q_, "q", dtype, {c.batch, c.heads, c.seq_q, c.head_dim}, c.layout, c.strides.q);
    make(k_, "k", dtype_kv, {c.batch, c.heads_kv, c.seq_kv, c.head_dim}, c.layout, c.strides.k);
    make(v_, "v", dtype_kv, {c.batch, c.heads_kv, c.seq_kv, c.head_dim_v}, c.layout, c.strides.v);
  }
  make(o_, "o", dtype, {c.batch, c.heads, c.seq_q, c.head_dim_v}, c.layout, c.strides.o);
  for (Tensor* tensor : {&q_, &k_, &v_, &o_}) {
    four(*tensor);
    point(*tensor, dl_type(tensor->view.dtype));
  }
  abi_.struct_size = sizeof abi_;
  abi_.q = &q_.dl;
  abi_.k = &k_.dl;
  abi_.v = &v_.dl;
  abi_.o = &o_.dl;
  if (c.mask == MaskKind::tensor) {
    const auto& full = c.mask_tensor.full;
    const std::array<std::int64_t, 4> stored{full[0] ? c.batch : 1, full[1] ? c.heads : 1, full[2] ? c.seq_q : 1, full[3] ? c.seq_kv : 1};
    const bool boolean = c.mask_tensor.dtype == MaskDType::boolean;
    make(mask_, "mask", boolean ? kBoolByte : dtype, stored, Layout::bhsd, StrideKind::dense);
    four(mask_);
    // Broadcast: the logical shape with stride 0 where one element serves all.
    mask_.shape = {c.batch, c.heads, c.seq_q, c.seq_kv};
    for (std::size_t i = 0; i < 4; ++i)
      if (!full[i]) mask_.strides[i] = 0;
    point(mask_, boolean ? kDlBool : dl_type(dtype));
    abi_.mask = &mask_.dl;
  }
  if (const auto slopes = resolved_slopes(c); !slopes.empty()) {
    const std::vector<float> values(slopes.begin(), slopes.end());
    make_vector(alibi_, "alibi", values.data(), values.size(), kDlFloat);
    abi_.alibi = &alibi_.dl;
  }
  const auto lengths = [&](Tensor& tensor, const char* name, const std::vector<std::int64_t>& values) -> DLTensor* {
    if (values.empty()) return nullptr;
    const std::vector<std::int32_t> narrow(values.begin(), values.end());
    make_vector(tensor, name, narrow.data(), narrow.size(), kDlInt32);
    return &tensor.dl;
  };
  abi_.lengths_q = lengths(lengths_q_, "lengths_q", c.lengths_q);
  abi_.lengths_kv = lengths(lengths_kv_, "lengths_kv", c.lengths_kv);
}

void Tensors::fill_storage(const Tensor& tensor, std::uint32_t bits) {
  const std::size_t size = element_bytes(tensor.view.dtype);
  device_.fill(tensor.storage->data(), bits, size, tensor.storage->bytes() / size);
}

void Tensors::fill(std::uint64_t seed) {
  // Gaps of sliced tensors hold NaN: a backend that reads them shows it.
  for (Tensor* tensor : {&q_, &k_, &v_})
    if (tensor->pitch != tensor->view.shape[3]) fill_storage(*tensor, nan_bits(tensor->view.dtype));
  device_.fill_inputs(value_, seed, q_.view, k_.view, v_.view);
  if (mask_.view) device_.fill_mask(value_, seed, mask_.view);
  fingerprint_ = input_fingerprint();
}

std::uint64_t Tensors::input_fingerprint() const {
  std::uint64_t hash = 0;
  for (const Tensor* tensor : {&q_, &k_, &v_, &mask_, &alibi_, &lengths_q_, &lengths_kv_})
    if (tensor->storage) hash = hash * 31 + device_.fingerprint(tensor->storage->data(), tensor->storage->bytes());
  return hash;
}

void Tensors::poison_output() {
  fill_storage(o_, poison_bits(o_.view.dtype));
  o_.strides.assign(o_.view.strides.begin(), o_.view.strides.end());
  point(o_, dl_type(o_.view.dtype));
}

std::optional<std::string> Tensors::damage() {
  for (Tensor* tensor : {&o_, &q_, &k_, &v_, &mask_, &alibi_, &lengths_q_, &lengths_kv_})
    if (tensor->storage)
      if (auto found = tensor->storage->damage()) return found;
  if (o_.pitch != o_.view.shape[3]) {
    std::vector<std::byte> stored(o_.storage->bytes());
    device_.read(stored.data(), o_.storage->data(), stored.size());
    const std::int64_t rows = o_.view.shape[0] * o_.view.shape[1] * o_.view.shape[2];
    const std::uint32_t bits = poison_bits(o_.view.dtype);
    const std::size_t size = element_bytes(o_.view.dtype);
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t d = o_.view.shape[3]; d < o_.pitch; ++d)
        if (std::memcmp(stored.data() + static_cast<std::size_t>(row * o_.pitch + d) * size, &bits, size) != 0)
          return fmt::format("wrote into the gap between rows of o (row {} of the storage, element {})", row, d);
  }
  if (input_fingerprint() != fingerprint_) return "wrote into its inputs";
  return std::nullopt;
}

TensorView Tensors::output(bool may_move) const {
  TensorView view = o_.view;
  if (!o_.dl.data) throw Error("pointed o at no memory");
  if (!o_.dl.strides) throw Error("gave o no strides");
  const bool moved = o_.dl.data != view.data || o_.dl.byte_offset != 0 || !std::equal(view.strides.begin(), view.strides.end(), o_.dl.strides);
  if (moved && !may_move) throw Error("moved o without the flag ATTN_FLAG_OWNS_OUTPUT");
  view.data = static_cast<std::byte*>(o_.dl.data) + o_.dl.byte_offset;
  std::copy_n(o_.dl.strides, 4, view.strides.begin());
  return view;
}

}  // namespace attn
