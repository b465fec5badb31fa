#pragma once
// A typed 4-D window into host memory: what the reference reads and what the inputs are written through.

#include <array>
#include <cstdint>

#include "abi/attn_dtype.hpp"

namespace attn {

// Logical order (batch, heads, seq, head_dim); strides in elements, 0 = broadcast.
struct TensorView {
  void* data = nullptr;
  std::int32_t dtype = ATTN_FP32;  // attn_dtype
  std::array<std::int64_t, 4> shape{}, strides{};

  std::int64_t offset(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const {
    return b * strides[0] + h * strides[1] + s * strides[2] + d * strides[3];
  }
  float load(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const { return load_element(data, offset(b, h, s, d), dtype); }
  void store(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d, float value) const { store_element(data, offset(b, h, s, d), dtype, value); }
  explicit operator bool() const { return data != nullptr; }
};

}  // namespace attn
