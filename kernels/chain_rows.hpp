#pragma once
// The row operations of chain.hpp that need an exponential, in vectors.

#include <algorithm>

#include "rows.hpp"
#include "simd.hpp"

namespace attn {

// softmax of a row, possibly in place; returns the sum of exponentials in total[0] and the maximum in total[1]. sum = 0: every score is -inf.
struct SoftmaxRow {
  template <int Lanes>
  ATTN_INLINE static void run(const float* from, float* to, std::int64_t count, float* total) {
    const std::int64_t whole = count / Lanes * Lanes;
    Vec<Lanes> most = splat<Lanes>(kMinusInfinity);
    for (std::int64_t j = 0; j < whole; j += Lanes) {
      const Vec<Lanes> s = load<Lanes>(from + j);
      most = s > most ? s : most;
    }
    float largest = maximum<Lanes>(most);
    for (std::int64_t j = whole; j < count; ++j) largest = from[j] > largest ? from[j] : largest;
    const float shift = largest == kMinusInfinity ? 0.0f : largest;
    Vec<Lanes> sums{};
    for (std::int64_t j = 0; j < whole; j += Lanes) {
      const Vec<Lanes> e = exponential<Lanes>(load<Lanes>(from + j) - shift);
      store<Lanes>(to + j, e);
      sums += e;
    }
    float tail[Lanes];
    std::fill_n(tail, Lanes, kMinusInfinity);
    std::copy(from + whole, from + count, tail);
    const Vec<Lanes> last = exponential<Lanes>(load<Lanes>(tail) - shift);
    store<Lanes>(tail, last);
    std::copy_n(tail, count - whole, to + whole);
    const float all = sum<Lanes>(sums + last);
    const float inverse = 1.0f / all;
    for (std::int64_t j = 0; j < count; ++j) to[j] *= inverse;
    total[0] = all;
    total[1] = largest;
  }
};

struct SoftcapRow {
  template <int Lanes>
  ATTN_INLINE static void run(float* scores, std::int64_t count, float cap) {
    const float inverse = 1.0f / cap;
    const std::int64_t whole = count / Lanes * Lanes;
    for (std::int64_t j = 0; j < whole; j += Lanes) store<Lanes>(scores + j, cap * hyperbolic_tangent<Lanes>(load<Lanes>(scores + j) * inverse));
    for (std::int64_t j = whole; j < count; ++j) scores[j] = cap * hyperbolic_tangent<Lanes>(splat<Lanes>(scores[j] * inverse))[0];
  }
};

}  // namespace attn
