// The conversions of abi/attn_dtype.hpp against the plain formats they shortcut, and the vector functions against libm.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "../../kernels/simd.hpp"
#include "abi/attn_dtype.hpp"

namespace attn {
namespace {

constexpr detail::SmallFormat kHalf{5, 10, true};

TEST(Formats, EveryHalfWidensExactly) {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const float fast = fp16_to_float(static_cast<std::uint16_t>(bits)), plain = detail::widen(bits, kHalf);
    if (std::isnan(plain)) EXPECT_TRUE(std::isnan(fast)) << bits;
    else EXPECT_EQ(std::bit_cast<std::uint32_t>(fast), std::bit_cast<std::uint32_t>(plain)) << bits;
  }
}

TEST(Formats, FloatsRoundToHalfToNearestEven) {
  const auto check = [](std::uint32_t bits) {
    const auto value = std::bit_cast<float>(bits);
    const std::uint32_t fast = float_to_fp16(value), plain = detail::narrow(value, kHalf);
    if (std::isnan(value)) ASSERT_GT(fast & 0x7fffu, 0x7c00u) << bits;
    else ASSERT_EQ(fast, plain) << value;
  };
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4099) check(static_cast<std::uint32_t>(bits));
  // Every half, the midpoint above it, and both neighbours of the midpoint.
  for (std::uint32_t half = 0; half < 0x7c00u; ++half) {
    const float low = detail::widen(half, kHalf), high = half + 1 == 0x7c00u ? 65536.0f : detail::widen(half + 1, kHalf);
    const auto middle = std::bit_cast<std::uint32_t>((low + high) / 2);
    for (const std::uint32_t bits : {std::bit_cast<std::uint32_t>(low), middle - 1, middle, middle + 1}) check(bits);
  }
}

struct Exponential {
  template <int Lanes>
  ATTN_INLINE static void run(const float* from, float* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += Lanes) store<Lanes>(to + i, exponential<Lanes>(load<Lanes>(from + i)));
  }
};
struct Tangent {
  template <int Lanes>
  ATTN_INLINE static void run(const float* from, float* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += Lanes) store<Lanes>(to + i, hyperbolic_tangent<Lanes>(load<Lanes>(from + i)));
  }
};

// The same in the vectors that every CPU has.
template <class Body>
void narrowest(const float* from, float* to, std::int64_t count) {
  Body::template run<4>(from, to, count);
}

template <class Function, class Exact>
double worst_ulp(const Function& function, const Exact& exact, float low, float high) {
  constexpr std::int64_t kCount = 1 << 18;
  std::vector<float> from(kCount), to(kCount);
  for (std::int64_t i = 0; i < kCount; ++i) from[static_cast<std::size_t>(i)] = low + (high - low) * static_cast<float>(i) / static_cast<float>(kCount);
  function(from.data(), to.data(), kCount);
  double worst = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double right = exact(static_cast<double>(from[i]));
    const auto near = static_cast<float>(std::fabs(right));
    worst = std::max(worst, std::fabs(to[i] - right) / static_cast<double>(std::nextafter(near, INFINITY) - near));
  }
  return worst;
}

TEST(VectorFunctions, AreWithinTwoUlpInTheWidestAndInTheNarrowestVectors) {
  const auto exact_exp = [](double x) { return std::exp(x); };
  const auto exact_tanh = [](double x) { return std::tanh(x); };
  EXPECT_LT(worst_ulp(ForThisCpu<Exponential>{}, exact_exp, -87.0f, 88.0f), 2.0);
  EXPECT_LT(worst_ulp(narrowest<Exponential>, exact_exp, -87.0f, 88.0f), 2.0);
  EXPECT_LT(worst_ulp(ForThisCpu<Tangent>{}, exact_tanh, -50.0f, 50.0f), 2.0);
  EXPECT_LT(worst_ulp(narrowest<Tangent>, exact_tanh, -1.0f, 1.0f), 2.0);
}

TEST(VectorFunctions, KeepWhatIsNotFinite) {
  float values[16] = {-INFINITY, NAN, -200.0f, 0.0f}, result[16];
  ForThisCpu<Exponential>{}(values, result, 16);
  EXPECT_EQ(result[0], 0.0f);
  EXPECT_TRUE(std::isnan(result[1]));
  EXPECT_EQ(result[2], 0.0f);
  EXPECT_EQ(result[3], 1.0f);
  float edges[16] = {-INFINITY, INFINITY, NAN};
  ForThisCpu<Tangent>{}(edges, result, 16);
  EXPECT_EQ(result[0], -1.0f);
  EXPECT_EQ(result[1], 1.0f);
  EXPECT_TRUE(std::isnan(result[2]));
}

}  // namespace
}  // namespace attn
