#pragma once
// Vector code written once and compiled for several instruction sets, so that one binary is fast on the CPU that it finds itself on.

#include <cstddef>
#include <cstdint>
#include <utility>

namespace attn {

// Loads and stores through Vec need no alignment beyond a float's.
template <int Lanes>
using Vec [[gnu::vector_size(4 * Lanes), gnu::aligned(4), gnu::may_alias]] = float;
template <int Lanes>
using IntVec [[gnu::vector_size(4 * Lanes), gnu::aligned(4), gnu::may_alias]] = std::int32_t;

#define ATTN_INLINE [[gnu::always_inline]] inline  // an instruction set reaches only what is inlined into the function that names it

template <int Lanes>
ATTN_INLINE Vec<Lanes> load(const float* data) {
  return *reinterpret_cast<const Vec<Lanes>*>(data);
}
template <int Lanes>
ATTN_INLINE void store(float* data, Vec<Lanes> value) {
  *reinterpret_cast<Vec<Lanes>*>(data) = value;
}
template <int Lanes>
ATTN_INLINE Vec<Lanes> splat(float value) {
  return Vec<Lanes>{} + value;
}
// 0, 1, 2, ...
template <int Lanes>
ATTN_INLINE Vec<Lanes> iota() {
  Vec<Lanes> value{};
  for (int i = 0; i < Lanes; ++i) value[i] = static_cast<float>(i);
  return value;
}
template <int Lanes, std::size_t... Half>
ATTN_INLINE Vec<Lanes / 2> fold(Vec<Lanes> value, std::index_sequence<Half...>) {
  return __builtin_shufflevector(value, value, Half...) + __builtin_shufflevector(value, value, (Half + Lanes / 2)...);
}
template <int Lanes>
ATTN_INLINE float sum(Vec<Lanes> value) {
  if constexpr (Lanes == 2) return value[0] + value[1];
  else return sum<Lanes / 2>(fold<Lanes>(value, std::make_index_sequence<Lanes / 2>{}));
}
template <int Lanes>
ATTN_INLINE float maximum(Vec<Lanes> value) {
  float largest = value[0];
  for (int i = 1; i < Lanes; ++i) largest = value[i] > largest ? value[i] : largest;
  return largest;
}
template <int Lanes>
ATTN_INLINE Vec<Lanes> absolute(Vec<Lanes> value) {
  return reinterpret_cast<Vec<Lanes>>(reinterpret_cast<IntVec<Lanes>>(value) & 0x7fffffff);
}

// e^x for x <= 88, within 2 ulp; 0 below -87.3; NaN stays. Cephes' expf (S. L. Moshier): x = n ln 2 + r, a polynomial in r.
template <int Lanes>
ATTN_INLINE Vec<Lanes> exponential(Vec<Lanes> x) {
  const Vec<Lanes> lowest = splat<Lanes>(-87.33654f);
  const Vec<Lanes> clamped = x < lowest ? lowest : x;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const Vec<Lanes> n = (clamped * 1.44269504088896341f + kRound) - kRound;
  const Vec<Lanes> r = (clamped - n * 0.693359375f) - n * -2.12194440e-4f;
  Vec<Lanes> p = splat<Lanes>(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const IntVec<Lanes> power = (__builtin_convertvector(n, IntVec<Lanes>) + 127) << 23;
  const Vec<Lanes> value = p * reinterpret_cast<Vec<Lanes>>(power);
  return x < lowest ? Vec<Lanes>{} : value;
}

// tanh within 2 ulp. Cephes' tanhf: a polynomial near 0, where 1 - 2 / (e^2x + 1) would cancel.
template <int Lanes>
ATTN_INLINE Vec<Lanes> hyperbolic_tangent(Vec<Lanes> x) {
  const Vec<Lanes> magnitude = absolute<Lanes>(x);
  const Vec<Lanes> limited = magnitude > 40.0f ? splat<Lanes>(40.0f) : magnitude;
  const Vec<Lanes> far = 1.0f - 2.0f / (exponential<Lanes>(limited + limited) + 1.0f);
  const Vec<Lanes> z = x * x;
  Vec<Lanes> p = splat<Lanes>(-5.70498872745e-3f);
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const Vec<Lanes> near = p * z * x + x;
  return magnitude < 0.625f ? near : (x < 0.0f ? -far : far);
}

// A vector function, compiled for every instruction set that matters and called in the widest that this CPU has. Body is a class with
// `template <int Lanes> static void run(...)`, always inlined.
template <class Body, class Function = decltype(&Body::template run<4>)>
class ForThisCpu;

template <class Body, class... Arguments>
class ForThisCpu<Body, void (*)(Arguments...)> {
 public:
  void operator()(Arguments... arguments) const { function_(arguments...); }

 private:
#if defined(__x86_64__)
  [[gnu::target("avx512f,avx512vl,avx512dq,avx2,fma,prefer-vector-width=512")]] static void avx512(Arguments... arguments) {
    Body::template run<16>(arguments...);
  }
  [[gnu::target("avx2,fma")]] static void avx2(Arguments... arguments) { Body::template run<8>(arguments...); }
#endif
  static void baseline(Arguments... arguments) { Body::template run<4>(arguments...); }
  static auto best() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) return avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2;
#endif
    return baseline;
  }
  void (*function_)(Arguments...) = best();
};

}  // namespace attn
