#pragma once
// The kernels of chain.cuh's `math` route besides those on the scores: operands and results to and from fp32, the mask made for each call, the safe softmax.

#include "chain_scores.cuh"

namespace attn {

// A (B, H, S, D) tensor; a warp takes a row.
struct Rows4 {
  Strided view;
  std::int64_t heads, length, columns;
  const std::int32_t* lengths;  // (B): rows beyond are left alone; null: all rows count
  __device__ bool counts(std::int64_t row) const {
    const std::int64_t plane = row / length;
    return !lengths || row - plane * length < lengths[plane / heads];
  }
  __device__ std::int64_t start(std::int64_t row) const {
    const std::int64_t plane = row / length, b = plane / heads;
    return view.place(b, row - plane * length) + (plane - b * heads) * view.head;
  }
};

// to = from * factor, rounded to To. The sizes are those of `from`.
template <class From, class To>
__device__ void convert(const Rows4& from, const Rows4& to, std::int64_t rows, float factor) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kBlockThreads + threadIdx.x) / kLanes;
  if (row >= rows || !from.counts(row)) return;
  const From* source = reinterpret_cast<const From*>(from.view.data) + from.start(row);
  To* target = reinterpret_cast<To*>(to.view.data) + to.start(row);
  for (std::int64_t d = threadIdx.x % kLanes; d < from.columns; d += kLanes)
    target[d * to.view.column] = narrow<To>(widen(source[d * from.view.column]) * factor);
}

// One name for each operand: that is how an account of kernels tells them apart.
#define ATTN_CONVERT(name, From, To)                                                                                                              \
  __global__ void __launch_bounds__(kBlockThreads) name(Rows4 from, Rows4 to, std::int64_t rows, float factor) {                                  \
    convert<From, To>(from, to, rows, factor);                                                                                                    \
  }
template <class T>
ATTN_CONVERT(attn_chain_cast_q, T, float)
template <class T>
ATTN_CONVERT(attn_chain_cast_k, T, float)
template <class T>
ATTN_CONVERT(attn_chain_cast_v, T, float)
template <class T>
ATTN_CONVERT(attn_chain_cast_o, float, T)
ATTN_CONVERT(attn_chain_scale_q, float, float)
ATTN_CONVERT(attn_chain_scale_k, float, float)
#undef ATTN_CONVERT

inline std::int64_t blocks_of_rows(std::int64_t rows) { return divide_up(rows, kBlockThreads / kLanes); }

// The mask of a call: 0 or the mask tensor's bias where a key is visible, -inf where it is not. (Bm, Hm, Sq, Skv) fp32, Bm and Hm 1 where all entries agree.
struct BuiltMask {
  float* data;
  std::int64_t batch, heads;
  __host__ __device__ std::int64_t rows(const GpuRows& rows) const { return batch * heads * rows.seq_q; }
};

template <class M, int width>
__global__ void __launch_bounds__(kBlockThreads) attn_chain_mask_build(BuiltMask mask, GpuRows rows) {
  const Span<width> span(mask.rows(rows), rows.seq_kv);
  if (span.row < 0) return;
  const std::int64_t plane = span.row / rows.seq_q, b = plane / mask.heads;
  const Place at{b, plane - b * mask.heads, span.row - plane * rows.seq_q};
  float* row = mask.data + span.row * rows.seq_kv;
  const M* bias = rows.mask && !rows.bool_mask ? reinterpret_cast<const M*>(rows.mask) + rows.mask_row(at) : nullptr;
#pragma unroll
  for (int step = 0; step < Piece<width>::steps; ++step) {
    const std::int64_t column = span.column(step);
    if (column >= span.length) break;
    Values<float, width> x;
#pragma unroll
    for (int n = 0; n < width; ++n) x.at[n] = bias ? widen(bias[(column + n) * rows.mask_strides[3]]) : 0.0f;
    x.write(row + column);
  }
  fill_hidden<float, width>(row, rows, at, span);
}

// `attn_chain_mask_add` for the built mask.
template <int width>
__global__ void __launch_bounds__(kBlockThreads) attn_chain_mask_add_built(Scores s, BuiltMask mask) {
  auto* scores = static_cast<float*>(s.data);
  transform<float, width>(scores, scores, s.rows.count(), s.rows.seq_kv, [&](std::int64_t row) {
    const Place at = s.rows.place(row);
    const std::int64_t plane = (mask.batch > 1 ? at.b : 0) * mask.heads + (mask.heads > 1 ? at.h : 0);
    const float* added = mask.data + (plane * s.rows.seq_q + at.i) * s.rows.seq_kv;
    return [=](std::int64_t column, Values<float, width>& x) {
      Values<float, width> bias;
      bias.read(added + column);
#pragma unroll
      for (int n = 0; n < width; ++n) x.at[n] += bias.at[n];
    };
  });
}

// neginf (B, H, Sq, Skv): 1 where a score is -inf.
template <int width>
__global__ void __launch_bounds__(kBlockThreads) attn_chain_is_neginf(Scores s, std::uint8_t* neginf) {
  const Span<width> span(s.rows.count(), s.rows.seq_kv);
  if (span.row < 0) return;
  const float* row = static_cast<const float*>(s.data) + span.row * s.rows.seq_kv;
#pragma unroll
  for (int step = 0; step < Piece<width>::steps; ++step) {
    const std::int64_t column = span.column(step);
    if (column >= span.length) break;
    Values<float, width> x;
    x.read(row + column);
    std::uint32_t bytes = 0;
#pragma unroll
    for (int n = 0; n < width; ++n) bytes |= static_cast<std::uint32_t>(x.at[n] == -INFINITY) << (8 * n);
    std::uint8_t* to = neginf + span.row * s.rows.seq_kv + column;
    if constexpr (width == 4) *reinterpret_cast<std::uint32_t*>(to) = bytes;
    else *to = static_cast<std::uint8_t>(bytes);
  }
}

// dead (B, H, Sq): 1 where a whole row of neginf is 1. A warp takes a row.
template <int width>
__global__ void __launch_bounds__(kBlockThreads) attn_chain_all_masked(GpuRows rows, const std::uint8_t* neginf, std::uint8_t* dead) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kBlockThreads + threadIdx.x) / kLanes;
  if (row >= rows.count()) return;
  bool all = true;
  for (std::int64_t column = threadIdx.x % kLanes * width; column < rows.seq_kv; column += kLanes * width) {
    const std::uint8_t* at = neginf + row * rows.seq_kv + column;
    if constexpr (width == 4) all = all && *reinterpret_cast<const std::uint32_t*>(at) == 0x01010101u;
    else all = all && *at;
  }
  all = __all_sync(0xffffffffu, all);
  if (threadIdx.x % kLanes == 0) dead[row] = all;
}

// The probabilities of a dead row follow the case's policy. A warp takes a row.
__global__ void __launch_bounds__(kBlockThreads) attn_chain_where(Scores s, const std::uint8_t* dead, int dead_rows) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kBlockThreads + threadIdx.x) / kLanes;
  if (row >= s.rows.count() || !dead[row]) return;
  const std::int64_t keys = s.rows.keys(s.rows.place(row).b);
  const float mean = keys > 0 ? 1.0f / static_cast<float>(keys) : 0.0f;
  const float value = dead_rows == ATTN_DEAD_ZERO ? 0.0f : dead_rows == ATTN_DEAD_NAN ? NAN : mean;
  float* to = static_cast<float*>(s.data) + row * s.rows.seq_kv;
  for (std::int64_t column = threadIdx.x % kLanes; column < s.rows.seq_kv; column += kLanes) to[column] = value;
}

}  // namespace attn
