#pragma once
// A typed 4-D window into memory: what the reference reads and what the inputs are written through.

#include <array>
#include <cstdint>

#include "abi/attn_dtype.hpp"

namespace attn {

// Where each row (batch, seq) of a ragged or paged tensor begins, in elements before the head's stride; -1: there is no such row. The same numbers twice: in
// host memory and in the device's. Every number is a sum of multiples of the view's strides of batch (from page to page) and seq (from token to token).
struct RowTable {
  const std::int64_t* host = nullptr;
  const std::int64_t* device = nullptr;
  explicit operator bool() const { return host != nullptr; }
};

// Logical order (batch, heads, seq, head_dim); strides in elements, 0 = broadcast. With a row table the strides of batch and seq are those of the storage, and
// no two rows share an element.
struct TensorView {
  void* data = nullptr;
  std::int32_t dtype = ATTN_FP32;  // attn_dtype
  std::array<std::int64_t, 4> shape{}, strides{};
  RowTable rows{};

  bool has_row(std::int64_t b, std::int64_t s) const { return !rows || rows.host[b * shape[2] + s] >= 0; }
  // Element (b, 0, s, 0).
  std::int64_t row(std::int64_t b, std::int64_t s) const { return rows ? rows.host[b * shape[2] + s] : b * strides[0] + s * strides[2]; }
  std::int64_t offset(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const { return row(b, s) + h * strides[1] + d * strides[3]; }
  float load(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const { return load_element(data, offset(b, h, s, d), dtype); }
  void store(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d, float value) const { store_element(data, offset(b, h, s, d), dtype, value); }
  explicit operator bool() const { return data != nullptr; }
};

}  // namespace attn
