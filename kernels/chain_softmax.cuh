#pragma once
// attn_chain_softmax: one read and one write of the scores for rows of up to 16384 keys, which stay in registers; two reads and one write beyond.

#include "chain_scores.cuh"

namespace attn {

inline constexpr int kNoPolicy = -1;

struct Softmax {
  Scores scores;
  float* lse;  // null: not asked for
  std::int64_t lse_strides[3];
  int dead_rows;        // attn_dead_rows, or kNoPolicy: a dead row becomes NaN, as 0/0 makes it
  int extra_sweeps;     // planted.slow: other rows that are read and summed too, their results dropped
  int extra_per_1024;   // ... one more by so many rows of 1024
};

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};

// `threads` work on one row, which lies in a warp or in a block.
template <int threads, class Combine>
__device__ float across(float value, Combine combine) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, distance));
  if constexpr (threads > kLanes) {
    __shared__ float of_warp[threads / kLanes];
    __syncthreads();  // the last use of of_warp is over
    if (threadIdx.x % kLanes == 0) of_warp[threadIdx.x / kLanes] = value;
    __syncthreads();
    value = of_warp[0];
#pragma unroll
    for (int warp = 1; warp < threads / kLanes; ++warp) value = combine(value, of_warp[warp]);
  }
  return value;
}

struct Total {
  float largest, sum;
  // sum = 0: every score is -inf.
  __device__ float shift() const { return largest == -INFINITY ? 0.0f : largest; }
};

// A row in registers.
template <class T, int width, int threads, int elements>
struct HeldRow {
  static constexpr int packs = elements / width;
  Values<T, width> at[packs];
  __device__ static std::int64_t column(int pack) { return (static_cast<std::int64_t>(pack) * threads + threadIdx.x % threads) * width; }

  __device__ Total total(const T* row, std::int64_t length) {
#pragma unroll
    for (int n = 0; n < packs; ++n) {
      if (column(n) < length) at[n].read(row + column(n));
      else
#pragma unroll
        for (T& value : at[n].at) value = narrow<T>(-INFINITY);
    }
    Total total{-INFINITY, 0};
#pragma unroll
    for (int n = 0; n < packs; ++n)
#pragma unroll
      for (const T& value : at[n].at) total.largest = fmaxf(total.largest, widen(value));
    total.largest = across<threads>(total.largest, Larger{});
    const float shift = total.shift();
#pragma unroll
    for (int n = 0; n < packs; ++n)
#pragma unroll
      for (const T& value : at[n].at) total.sum += exponential<T>(widen(value) - shift);
    total.sum = across<threads>(total.sum, Plus{});
    return total;
  }
  // to[j] = body(score j)
  template <class Body>
  __device__ void write(const T*, T* to, std::int64_t length, const Body& body) {
#pragma unroll
    for (int n = 0; n < packs; ++n) {
      if (column(n) >= length) break;
#pragma unroll
      for (T& value : at[n].at) value = body(widen(value));
      at[n].write(to + column(n));
    }
  }
};

// A row of any length.
template <class T, int width, int threads>
struct HeldRow<T, width, threads, 0> {
  template <class Body>
  __device__ static void each(std::int64_t length, const Body& body) {
    for (std::int64_t column = static_cast<std::int64_t>(threadIdx.x) * width; column < length; column += threads * width) body(column);
  }
  __device__ Total total(const T* row, std::int64_t length) {
    float largest = -INFINITY, sum = 0;
    each(length, [&](std::int64_t column) {
      Values<T, width> x;
      x.read(row + column);
      float most = largest;
#pragma unroll
      for (const T& value : x.at) most = fmaxf(most, widen(value));
      if (most > largest) {
        sum *= exponential<T>(largest - most);  // 0 * 0 at first
        largest = most;
      }
      const float shift = largest == -INFINITY ? 0.0f : largest;
#pragma unroll
      for (const T& value : x.at) sum += exponential<T>(widen(value) - shift);
    });
    Total total{across<threads>(largest, Larger{}), 0};
    total.sum = across<threads>(largest == -INFINITY ? sum : sum * exponential<T>(largest - total.shift()), Plus{});
    return total;
  }
  template <class Body>
  __device__ void write(const T* row, T* to, std::int64_t length, const Body& body) {
    each(length, [&](std::int64_t column) {
      Values<T, width> x;
      x.read(row + column);
#pragma unroll
      for (T& value : x.at) value = body(widen(value));
      x.write(to + column);
    });
  }
};

// `rows` of a block: kSoftmaxThreads / threads.
inline constexpr int kSoftmaxThreads = 128;

template <class T, int width, int threads, int elements>
__global__ void __launch_bounds__(threads == kLanes ? kSoftmaxThreads : threads) attn_chain_softmax(Softmax s) {
  constexpr int kRows = threads == kLanes ? kSoftmaxThreads / kLanes : 1;
  const GpuRows& rows = s.scores.rows;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRows + threadIdx.x / threads, length = rows.seq_kv;
  if (row >= rows.count()) return;
  T* scores = static_cast<T*>(s.scores.data);
  HeldRow<T, width, threads, elements> held;
  // Rows far from where the other blocks are, so that they come from memory as the row itself does. They may be written meanwhile: nobody looks at the sums,
  // but the compiler does not know that none is negative.
  const int sweeps = s.extra_sweeps + (row % 1024 < s.extra_per_1024);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    const std::int64_t other = (row + rows.count() / 2 + sweep * (rows.count() / 16)) % rows.count();
    if (held.total(scores + other * length, length).sum < 0) return;
  }

  T* own = scores + row * length;
  const Total total = held.total(own, length);
  const Place at = rows.place(row);
  const bool dead = total.sum == 0.0f;
  const float shift = total.shift(), inverse = 1.0f / total.sum;
  if (dead && s.dead_rows != kNoPolicy) {
    const std::int64_t keys = rows.keys(at.b);
    const float mean = keys > 0 ? 1.0f / static_cast<float>(keys) : 0.0f;
    const T value = narrow<T>(s.dead_rows == ATTN_DEAD_ZERO ? 0.0f : s.dead_rows == ATTN_DEAD_NAN ? NAN : mean);
    held.write(own, own, length, [=](float) { return value; });
  } else {
    held.write(own, own, length, [=](float score) { return narrow<T>(exponential<T>(score - shift) * inverse); });
  }
  if (s.lse && threadIdx.x % threads == 0)
    s.lse[at.b * s.lse_strides[0] + at.h * s.lse_strides[1] + at.i * s.lse_strides[2]] =
        dead || at.i >= rows.queries(at.b) || rows.keys(at.b) == 0 ? -INFINITY : total.largest + logf(total.sum);
}

template <class T, int width, int threads, int elements>
void launch_softmax_of(const Softmax& s, cudaStream_t stream) {
  constexpr int kThreads = threads == kLanes ? kSoftmaxThreads : threads;
  launch(attn_chain_softmax<T, width, threads, elements>, divide_up(s.scores.rows.count(), kThreads / threads), kThreads, stream, "attn_chain_softmax", s);
}

template <class T, int width>
void launch_softmax(const Softmax& s, cudaStream_t stream) {
  const std::int64_t length = s.scores.rows.seq_kv;
  if (length <= 256) launch_softmax_of<T, width, 32, 8>(s, stream);
  else if (length <= 1024) launch_softmax_of<T, width, 32, 32>(s, stream);
  else if (length <= 2048) launch_softmax_of<T, width, 128, 16>(s, stream);
  else if (length <= 4096) launch_softmax_of<T, width, 128, 32>(s, stream);
  else if (length <= 8192) launch_softmax_of<T, width, 256, 32>(s, stream);
  else if (length <= 16384) launch_softmax_of<T, width, 512, 32>(s, stream);
  else launch_softmax_of<T, width, 512, 0>(s, stream);
}

}  // namespace attn
