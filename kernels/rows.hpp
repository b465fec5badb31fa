#pragma once
// What a CPU backend needs to know of a problem: strided access to its tensors, which keys a row may see, and what is added to a score.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "abi/attn_dtype.hpp"
#include "abi/attn_host_device.hpp"
#include "abi/attn_kernel.hpp"

namespace attn {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

inline const std::int32_t* ints(const DLTensor* tensor) {
  return tensor ? reinterpret_cast<const std::int32_t*>(static_cast<const char*>(tensor->data) + tensor->byte_offset) : nullptr;
}

// A (batch, heads, seq, head_dim) tensor in any strides, in elements; ragged, (tokens, heads, head_dim); or in pages, (pages, heads, page, head_dim). The
// tables are read when asked for, because their contents may change between calls; rows past a sequence's length lie nowhere in the last two.
struct Strided {
  char* data = nullptr;
  std::int32_t dtype = ATTN_FP32;
  std::int64_t batch = 0, head = 0, row = 0, column = 0;  // batch: of a tensor in pages, from page to page
  const std::int32_t* starts = nullptr;                   // ragged: (batch + 1)
  const std::int32_t* pages = nullptr;                    // (batch, pages_per_entry)
  std::int64_t pages_per_entry = 0, page_size = 0;

  Strided() = default;
  Strided(const DLTensor& tensor, std::int32_t type)
      : data(static_cast<char*>(tensor.data) + tensor.byte_offset),
        dtype(type),
        batch(tensor.strides[0]),
        head(tensor.strides[1]),
        row(tensor.strides[2]),
        column(tensor.strides[3]) {}
  // A dense fp32 one.
  Strided(float* dense, std::int64_t heads, std::int64_t rows, std::int64_t columns)
      : data(reinterpret_cast<char*>(dense)), batch(heads * rows * columns), head(rows * columns), row(columns), column(1) {}

  // q and o, k and v of a problem.
  static Strided of_queries(const DLTensor& tensor, const attn_problem& problem, const attn_tensors& tensors) {
    return problem.layout == ATTN_THD ? ragged(tensor, problem.dtype, tensors.starts_q) : Strided(tensor, problem.dtype);
  }
  static Strided of_keys(const DLTensor& tensor, const attn_problem& problem, const attn_tensors& tensors) {
    if (problem.page_size == 0) return problem.layout == ATTN_THD ? ragged(tensor, problem.dtype_kv, tensors.starts_kv) : Strided(tensor, problem.dtype_kv);
    if (!tensors.page_table) throw std::runtime_error("the problem has a page_size and no page_table");
    Strided view(tensor, problem.dtype_kv);
    view.pages = ints(tensors.page_table);
    view.pages_per_entry = tensors.page_table->strides[0];
    view.page_size = problem.page_size;
    return view;
  }

  // Element (b, 0, s, 0).
  ATTN_HOST_DEVICE std::int64_t place(std::int64_t b, std::int64_t s) const {
    if (pages) return pages[b * pages_per_entry + s / page_size] * batch + s % page_size * row;
    return (starts ? starts[b] * row : b * batch) + s * row;
  }
  // Rows from s on that follow each other at the distance `row`, s included.
  std::int64_t together(std::int64_t s) const { return pages ? page_size - s % page_size : std::numeric_limits<std::int64_t>::max(); }
  // Rows past a sequence's length have no place.
  ATTN_HOST_DEVICE bool only_real_rows() const { return starts || pages; }

  char* at(std::int64_t b, std::int64_t h, std::int64_t s) const {
    return data + (place(b, s) + h * head) * static_cast<std::int64_t>(element_bytes(dtype));
  }
  float* floats(std::int64_t b, std::int64_t h, std::int64_t s) const { return reinterpret_cast<float*>(at(b, h, s)); }

 private:
  static Strided ragged(const DLTensor& tensor, std::int32_t type, const DLTensor* starts) {
    if (!starts) throw std::runtime_error("the layout is thd and a table of starts is missing");
    Strided view;
    view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
    view.dtype = type;
    view.head = tensor.strides[1];
    view.row = tensor.strides[0];
    view.column = tensor.strides[2];
    view.starts = ints(starts);
    return view;
  }
};

// Widens `count` elements of `dtype`, `stride` elements apart, into a dense row.
inline void widen_row(const void* from, std::int64_t stride, std::int32_t dtype, std::int64_t count, float* to) {
  if (stride == 1 && dtype == ATTN_FP32) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
  } else if (stride == 1 && dtype == ATTN_BF16) {
    const auto* bits = static_cast<const std::uint16_t*>(from);
    for (std::int64_t i = 0; i < count; ++i) to[i] = bf16_to_float(bits[i]);
  } else if (stride == 1 && dtype == ATTN_FP16) {
    const auto* bits = static_cast<const std::uint16_t*>(from);
    for (std::int64_t i = 0; i < count; ++i) to[i] = fp16_to_float(bits[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = load_element(from, i * stride, dtype);
  }
}

// Rounds a dense row to `dtype` and writes it with `stride`.
inline void narrow_row(const float* from, std::int64_t count, void* to, std::int64_t stride, std::int32_t dtype) {
  if (stride == 1 && dtype == ATTN_BF16) {
    auto* bits = static_cast<std::uint16_t*>(to);
    for (std::int64_t i = 0; i < count; ++i) bits[i] = float_to_bf16(from[i]);
  } else if (stride == 1 && dtype == ATTN_FP16) {
    auto* bits = static_cast<std::uint16_t*>(to);
    for (std::int64_t i = 0; i < count; ++i) bits[i] = float_to_fp16(from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) store_element(to, i * stride, dtype, from[i]);
  }
}

// Keys [first, end) of one row; empty = dead, unless a mask tensor hides more.
struct Keys {
  std::int64_t first = 0, end = 0;
};

// The rules of visibility. Lengths, masks and slopes are read when asked for, because their contents may change between calls.
class Rows {
 public:
  Rows(const attn_problem& problem, const attn_tensors& tensors) : p_(problem) {
    lengths_q_ = ints(tensors.lengths_q);
    lengths_kv_ = ints(tensors.lengths_kv);
    if (tensors.alibi) {
      slopes_ = reinterpret_cast<const float*>(static_cast<const char*>(tensors.alibi->data) + tensors.alibi->byte_offset);
      slope_stride_ = tensors.alibi->strides[0];
    }
    if (tensors.mask) {
      mask_ = Strided(*tensors.mask, p_.dtype);
      mask_bytes_ = p_.needs & ATTN_CAN_MASK_BOOL ? 1 : static_cast<std::int64_t>(element_bytes(p_.dtype));
    }
  }

  const attn_problem& problem() const { return p_; }
  std::int64_t group() const { return p_.heads / p_.heads_kv; }
  std::int64_t count() const { return p_.batch * p_.heads * p_.seq_q; }

  // Query rows and keys of one sequence that are no padding.
  std::int64_t queries(std::int64_t b) const { return lengths_q_ ? lengths_q_[b] : p_.seq_q; }
  std::int64_t keys(std::int64_t b) const { return lengths_kv_ ? lengths_kv_[b] : p_.seq_kv; }
  // Position of row 0 on the keys' axis.
  std::int64_t offset(std::int64_t b) const { return p_.alignment == ATTN_BOTTOM_RIGHT ? keys(b) - queries(b) : 0; }

  // What causality, window and lengths leave to row i. A padding row sees nothing.
  Keys visible(std::int64_t b, std::int64_t i) const {
    const std::int64_t own = i + offset(b);
    Keys range{0, i < queries(b) ? keys(b) : 0};
    if (p_.mask_kind == ATTN_MASK_CAUSAL) range.end = std::min(range.end, own + 1);
    if (p_.window_right >= 0) range.end = std::min(range.end, own + p_.window_right + 1);
    if (p_.window_left >= 0) range.first = std::max(range.first, own - p_.window_left);
    range.end = std::max(range.end, range.first);
    return range;
  }

  bool has_bool_mask() const { return mask_.data && mask_bytes_ == 1; }
  bool has_additive_mask() const { return mask_.data && mask_bytes_ != 1; }
  bool mask_per_batch() const { return mask_.batch != 0; }
  bool mask_per_head() const { return mask_.head != 0; }
  bool has_lengths() const { return lengths_q_ || lengths_kv_; }
  bool has_alibi() const { return slopes_; }
  // True when some row of the problem may not see some key for another reason than an additive mask.
  bool hides() const {
    return p_.mask_kind == ATTN_MASK_CAUSAL || p_.window_left >= 0 || p_.window_right >= 0 || lengths_kv_ || has_bool_mask();
  }

  float slope(std::int64_t h) const { return slopes_[h * slope_stride_]; }

  // bool: 1 = visible.
  const std::uint8_t* bool_mask(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return reinterpret_cast<const std::uint8_t*>(mask_.data) + b * mask_.batch + h * mask_.head + i * mask_.row;
  }
  const void* additive_mask(std::int64_t b, std::int64_t h, std::int64_t i) const { return mask_.at(b, h, i); }
  std::int64_t mask_column() const { return mask_.column; }

  // Writes what the mask tensor adds to the scores of row i: to[n * stride] for key first + n, -inf for a key that a bool mask hides.
  void mask_row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t first, std::int64_t count, float* to, std::int64_t stride) const {
    if (has_bool_mask()) {
      const std::uint8_t* from = bool_mask(b, h, i) + first * mask_.column;
      for (std::int64_t n = 0; n < count; ++n) to[n * stride] = from[n * mask_.column] ? 0.0f : kMinusInfinity;
    } else {
      const char* from = mask_.at(b, h, i) + first * mask_.column * mask_bytes_;
      for (std::int64_t n = 0; n < count; ++n) to[n * stride] = load_element(from, n * mask_.column, mask_.dtype);
    }
  }

 private:
  attn_problem p_;
  const std::int32_t* lengths_q_ = nullptr;
  const std::int32_t* lengths_kv_ = nullptr;
  const float* slopes_ = nullptr;
  std::int64_t slope_stride_ = 1;
  Strided mask_;
  std::int64_t mask_bytes_ = 1;
};

// Hands out pieces of the harness's workspace. With a null base it only counts, so one function both states the size and lays it out.
class Arena {
 public:
  explicit Arena(void* base = nullptr) : base_(static_cast<char*>(base)) {}
  // Throws Unsupported when the sizes leave 63 bits.
  template <class T>
  T* take(std::initializer_list<std::int64_t> sizes) {
    std::uint64_t bytes = sizeof(T);
    for (const std::int64_t size : sizes)
      if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) too_large();
    const std::uint64_t start = used_;
    constexpr std::uint64_t kAlignment = 256;
    if (bytes > (std::uint64_t{1} << 62) || used_ > (std::uint64_t{1} << 62)) too_large();
    used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return base_ ? reinterpret_cast<T*>(base_ + start) : nullptr;
  }
  std::uint64_t used() const { return used_; }

 private:
  [[noreturn]] static void too_large() { throw Unsupported("the workspace would need more bytes than 64 bits can count"); }
  char* base_;
  std::uint64_t used_ = 0;
};

// Refuses a workspace that this machine does not have.
inline Support fitting(std::uint64_t bytes, const attn_device_facts& device) {
  if (device.memory_bytes && bytes > device.memory_bytes)
    throw Unsupported("needs " + std::to_string(bytes >> 20) + " MiB of workspace, the device has " + std::to_string(device.memory_bytes >> 20) + " MiB");
  return {bytes};
}

}  // namespace attn
