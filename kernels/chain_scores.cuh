#pragma once
// The kernels of chain.cuh that go over the scores, (B, H, Sq, Skv) dense. fp32 inside, rounded to the scores' type after each, as an eager framework does.
//
// A warp works on one piece of one row, so that the row's place costs its division once; four accesses of 16 bytes a lane are in flight before the first is
// used. Rows that are no whole number of packs are read element by element (`width` 1).

#include "gpu_rows.cuh"

namespace attn {

inline constexpr int kLanes = 32, kBlockThreads = 256;

template <int width>
struct Piece {
  static constexpr int steps = width == 1 ? 8 : 4, elements = kLanes * width * steps;
};

// A piece of a row of `length` elements, for the calling warp; row is -1 when there is none left.
template <int width>
struct Span {
  std::int64_t row, first;  // of this lane
  int length;
  __device__ Span(std::int64_t rows, std::int64_t row_length) : length(static_cast<int>(row_length)) {
    const std::int64_t pieces = (row_length + Piece<width>::elements - 1) / Piece<width>::elements;
    const std::int64_t task = (static_cast<std::int64_t>(blockIdx.x) * kBlockThreads + threadIdx.x) / kLanes;
    row = task / pieces;
    first = (task - row * pieces) * Piece<width>::elements + threadIdx.x % kLanes * width;
    if (row >= rows) row = -1;
  }
  __device__ std::int64_t column(int step) const { return first + step * kLanes * width; }
};

template <int width>
std::int64_t blocks_for(std::int64_t rows, std::int64_t row_length) {
  return divide_up(rows * divide_up(row_length, Piece<width>::elements), kBlockThreads / kLanes);
}

// to[row][j] = body(j, from[row][j]) with body = for_row(row).
template <class T, int width, class ForRow>
__device__ void transform(const T* from, T* to, std::int64_t rows, std::int64_t length, const ForRow& for_row) {
  const Span<width> span(rows, length);
  if (span.row < 0) return;
  const T* source = from + span.row * length;
  Values<T, width> values[Piece<width>::steps];
#pragma unroll
  for (int step = 0; step < Piece<width>::steps; ++step)
    if (span.column(step) < length) values[step].read(source + span.column(step));
  const auto body = for_row(span.row);
#pragma unroll
  for (int step = 0; step < Piece<width>::steps; ++step) {
    const std::int64_t column = span.column(step);
    if (column >= length) break;
    body(column, values[step]);
    values[step].write(to + span.row * length + column);
  }
}

// What the kernels below share.
struct Scores {
  void* data;  // (B, H, Sq, Skv)
  GpuRows rows;
};

template <class T, int width>
__global__ void __launch_bounds__(kBlockThreads) attn_chain_scale(Scores s, float scale) {
  T* scores = static_cast<T*>(s.data);
  transform<T, width>(scores, scores, s.rows.count(), s.rows.seq_kv, [&](std::int64_t) {
    return [=](std::int64_t, Values<T, width>& x) {
#pragma unroll
      for (T& value : x.at) value = narrow<T>(widen(value) * scale);
    };
  });
}

template <class T, int width>
__global__ void __launch_bounds__(kBlockThreads) attn_chain_softcap(Scores s, float cap) {
  T* scores = static_cast<T*>(s.data);
  const float inverse = 1.0f / cap;
  transform<T, width>(scores, scores, s.rows.count(), s.rows.seq_kv, [&](std::int64_t) {
    return [=](std::int64_t, Values<T, width>& x) {
#pragma unroll
      for (T& value : x.at) value = narrow<T>(cap * tanhf(widen(value) * inverse));
    };
  });
}

template <class T, int width>
__global__ void __launch_bounds__(kBlockThreads) attn_chain_alibi(Scores s) {
  T* scores = static_cast<T*>(s.data);
  transform<T, width>(scores, scores, s.rows.count(), s.rows.seq_kv, [&](std::int64_t row) {
    const Place at = s.rows.place(row);
    const float slope = s.rows.slopes[at.h * s.rows.slope_stride];
    const std::int64_t own = at.i + s.rows.offset(at.b);
    return [=](std::int64_t column, Values<T, width>& x) {
      const int distance = static_cast<int>(own - column);
#pragma unroll
      for (int n = 0; n < width; ++n) x.at[n] = narrow<T>(widen(x.at[n]) - slope * static_cast<float>(abs(distance - n)));
    };
  });
}

// The mask tensor is in the problem's type M; the scores may be wider.
template <class T, class M, int width>
__global__ void __launch_bounds__(kBlockThreads) attn_chain_mask_add(Scores s) {
  T* scores = static_cast<T*>(s.data);
  transform<T, width>(scores, scores, s.rows.count(), s.rows.seq_kv, [&](std::int64_t row) {
    const M* mask = reinterpret_cast<const M*>(s.rows.mask) + s.rows.mask_row(s.rows.place(row));
    const std::int64_t stride = s.rows.mask_strides[3];
    const bool packed = s.rows.packed_mask;
    return [=](std::int64_t column, Values<T, width>& x) {
      Values<M, width == 1 ? 1 : kPack<M>> bias;
      if (width == kPack<M> && packed) bias.read(mask + column);
#pragma unroll
      for (int n = 0; n < width; ++n) {
        const float added = width == kPack<M> && packed ? widen(bias.at[n]) : widen(mask[(column + n) * stride]);
        x.at[n] = narrow<T>(widen(x.at[n]) + added);
      }
    };
  });
}

// Writes -inf where a key is hidden, and reads only packs in which some are and some are not.
template <class T, int width>
__device__ void fill_hidden(T* row, const GpuRows& rows, const Place& at, const Span<width>& span) {
  const T hidden = narrow<T>(-INFINITY);
  const Keys keys = rows.visible(at.b, at.i);
  const std::uint8_t* mask = rows.bool_mask ? reinterpret_cast<const std::uint8_t*>(rows.mask) + rows.mask_row(at) : nullptr;
#pragma unroll
  for (int step = 0; step < Piece<width>::steps; ++step) {
    const std::int64_t column = span.column(step);
    if (column >= span.length) break;
    unsigned seen = 0;  // one bit a key
    alignas(8) std::uint8_t bits[width];
    const bool packed = width > 1 && mask && rows.packed_mask;
    if (packed && width == 8) *reinterpret_cast<uint2*>(bits) = *reinterpret_cast<const uint2*>(mask + column);
    if (packed && width == 4) *reinterpret_cast<std::uint32_t*>(bits) = *reinterpret_cast<const std::uint32_t*>(mask + column);
#pragma unroll
    for (int n = 0; n < width; ++n) {
      bool sees = column + n >= keys.first && column + n < keys.end;
      if (sees && mask) sees = packed ? bits[n] : mask[(column + n) * rows.mask_strides[3]];
      seen |= static_cast<unsigned>(sees) << n;
    }
    constexpr unsigned kAll = (1u << width) - 1;
    if (seen == kAll) continue;
    Values<T, width> x;
    if (seen) x.read(row + column);
#pragma unroll
    for (int n = 0; n < width; ++n)
      if (!(seen >> n & 1u)) x.at[n] = hidden;
    x.write(row + column);
  }
}

template <class T, int width>
__global__ void __launch_bounds__(kBlockThreads) attn_chain_masked_fill(Scores s) {
  const Span<width> span(s.rows.count(), s.rows.seq_kv);
  if (span.row < 0) return;
  fill_hidden<T, width>(static_cast<T*>(s.data) + span.row * s.rows.seq_kv, s.rows, s.rows.place(span.row), span);
}

}  // namespace attn
