#pragma once
// rows.hpp's Rows for kernels: which keys a row of scores may see and what is added to it. Passed by value; lengths, masks and slopes are read on the device.

#include "cuda_backend.cuh"
#include "rows.hpp"

namespace attn {

struct Place {
  std::int64_t b, h, i;
};

struct GpuRows {
  GpuRows() = default;
  GpuRows(const attn_problem& p, const attn_tensors& tensors)
      : batch(p.batch),
        heads(p.heads),
        seq_q(p.seq_q),
        seq_kv(p.seq_kv),
        window_left(p.window_left),
        window_right(p.mask_kind == ATTN_MASK_CAUSAL ? 0 : p.window_right),
        bottom_right(p.alignment == ATTN_BOTTOM_RIGHT) {
    lengths_q = ints(tensors.lengths_q);
    lengths_kv = ints(tensors.lengths_kv);
    slopes = data<float>(tensors.alibi);
    if (slopes) slope_stride = tensors.alibi->strides[0];
    if (!tensors.mask) return;
    mask = data<char>(tensors.mask);
    bool_mask = p.needs & ATTN_CAN_MASK_BOOL;
    for (int axis = 0; axis < 4; ++axis) mask_strides[axis] = tensors.mask->strides[axis];
    // Whole packs of a mask's row can be read at once.
    const auto bytes = static_cast<std::int64_t>(element_bytes(p.dtype)), pack = 16 / bytes, element = bool_mask ? 1 : bytes;
    packed_mask = mask_strides[3] == 1 && reinterpret_cast<std::uintptr_t>(mask) % static_cast<std::uintptr_t>(pack * element) == 0;
    for (int axis = 0; axis < 3; ++axis) packed_mask = packed_mask && mask_strides[axis] % pack == 0;
  }

  bool has_lengths() const { return lengths_q || lengths_kv; }
  bool has_additive_mask() const { return mask && !bool_mask; }
  // True when some row may not see some key for another reason than an additive mask.
  bool hides() const { return window_left >= 0 || window_right >= 0 || lengths_kv || bool_mask; }
  __host__ __device__ std::int64_t count() const { return batch * heads * seq_q; }

  __device__ Place place(std::int64_t row) const {
    const std::int64_t plane = row / seq_q, b = plane / heads;
    return {b, plane - b * heads, row - plane * seq_q};
  }
  __device__ std::int64_t queries(std::int64_t b) const { return lengths_q ? lengths_q[b] : seq_q; }
  __device__ std::int64_t keys(std::int64_t b) const { return lengths_kv ? lengths_kv[b] : seq_kv; }
  __device__ std::int64_t offset(std::int64_t b) const { return bottom_right ? keys(b) - queries(b) : 0; }

  // What causality, window and lengths leave to row i. A padding row sees nothing.
  __device__ Keys visible(std::int64_t b, std::int64_t i) const {
    const std::int64_t own = i + offset(b);
    Keys range;
    range.end = i < queries(b) ? keys(b) : 0;
    if (window_right >= 0) range.end = min(range.end, own + window_right + 1);
    if (window_left >= 0) range.first = max(range.first, own - window_left);
    range.end = max(range.end, range.first);
    return range;
  }

  // Element (b, h, i, 0) of the mask, in elements from its start.
  __device__ std::int64_t mask_row(const Place& at) const { return at.b * mask_strides[0] + at.h * mask_strides[1] + at.i * mask_strides[2]; }

  std::int64_t batch = 0, heads = 0, seq_q = 0, seq_kv = 0;
  std::int64_t window_left = -1, window_right = -1;  // causal is a window whose right border is 0
  const std::int32_t* lengths_q = nullptr;
  const std::int32_t* lengths_kv = nullptr;
  const float* slopes = nullptr;
  std::int64_t slope_stride = 1;
  const char* mask = nullptr;
  std::int64_t mask_strides[4] = {};
  bool bottom_right = false, bool_mask = false, packed_mask = false;

 private:
  template <class T>
  static const T* data(const DLTensor* tensor) {
    return tensor ? reinterpret_cast<const T*>(static_cast<const char*>(tensor->data) + tensor->byte_offset) : nullptr;
  }
};

}  // namespace attn
