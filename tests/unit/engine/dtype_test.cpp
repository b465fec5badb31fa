#include "abi/attn_dtype.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <vector>

namespace attn {
namespace {



float value_of(std::int32_t dtype, std::uint32_t bits) { return load_element(&bits, 0, dtype); }
std::uint32_t bits_of(std::int32_t dtype, float value) {
  std::uint32_t bits = 0;
  store_element(&bits, 0, dtype, value);
  return bits;
}
std::uint32_t count_of(std::int32_t dtype) { return element_bytes(dtype) == 2 ? 65536 : 256; }

std::vector<std::int32_t> small_dtypes() { return {ATTN_FP16, ATTN_BF16, ATTN_FP8_E4M3, ATTN_FP8_E5M2}; }

// The value by the definition of a binary format.
double by_definition(std::int32_t dtype, std::uint32_t bits) {
  struct Format {
    int exponent, mantissa;
  };
  const std::map<std::int32_t, Format> formats{{ATTN_FP16, {5, 10}}, {ATTN_BF16, {8, 7}}, {ATTN_FP8_E4M3, {4, 3}}, {ATTN_FP8_E5M2, {5, 2}}};
  const auto [e_bits, m_bits] = formats.at(dtype);
  const int e = static_cast<int>(bits >> m_bits) & ((1 << e_bits) - 1), m = static_cast<int>(bits) & ((1 << m_bits) - 1), bias = (1 << (e_bits - 1)) - 1;
  const double sign = bits >> (e_bits + m_bits) & 1 ? -1 : 1;
  if (e == (1 << e_bits) - 1) {
    if (dtype == ATTN_FP8_E4M3 ? m == 7 : m != 0) return std::numeric_limits<double>::quiet_NaN();
    if (dtype != ATTN_FP8_E4M3) return sign * std::numeric_limits<double>::infinity();
  }
  return sign * (e == 0 ? std::ldexp(m, 1 - bias - m_bits) : std::ldexp(m + (1 << m_bits), e - bias - m_bits));
}

TEST(Dtype, EveryPatternWidensToItsDefinitionAndComesBack) {
  for (const std::int32_t dtype : small_dtypes())
    for (std::uint32_t bits = 0; bits < count_of(dtype); ++bits) {
      const double want = by_definition(dtype, bits), have = value_of(dtype, bits);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(have)) << dtype << " " << bits;
        EXPECT_TRUE(std::isnan(value_of(dtype, bits_of(dtype, static_cast<float>(have))))) << dtype << " " << bits;
        continue;
      }
      ASSERT_EQ(have, want) << dtype << " " << bits;
      ASSERT_EQ(std::signbit(have), std::signbit(want)) << dtype << " " << bits;
      ASSERT_EQ(bits_of(dtype, static_cast<float>(have)), bits) << dtype;
    }
}

// Halfway goes to the even neighbour, a float above or below it to the nearer one; subnormals, the step to the first normal and the last finite included.
TEST(Dtype, NarrowingRoundsToNearestTiesToEvenBetweenAllNeighbours) {
  for (const std::int32_t dtype : small_dtypes())
    for (std::uint32_t bits = 0; bits + 1 < count_of(dtype) / 2; ++bits) {
      const float low = value_of(dtype, bits), high = value_of(dtype, bits + 1);
      if (!std::isfinite(high)) continue;
      const auto middle = static_cast<float>((static_cast<double>(low) + high) / 2);
      const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1, sign = count_of(dtype) / 2;
      ASSERT_EQ(bits_of(dtype, middle), even) << dtype << " " << bits;
      ASSERT_EQ(bits_of(dtype, std::nextafter(middle, low)), bits) << dtype;
      ASSERT_EQ(bits_of(dtype, std::nextafter(middle, high)), bits + 1) << dtype;
      ASSERT_EQ(bits_of(dtype, -middle), even | sign) << dtype << " " << bits;
    }
}

TEST(Dtype, OverflowIsInfinityWhereThereIsOneAndNanInE4m3) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(value_of(ATTN_FP16, bits_of(ATTN_FP16, 65519.0f)), 65504.0f);
  EXPECT_EQ(value_of(ATTN_FP16, bits_of(ATTN_FP16, 65520.0f)), inf);
  EXPECT_EQ(value_of(ATTN_BF16, bits_of(ATTN_BF16, std::numeric_limits<float>::max())), inf);
  EXPECT_EQ(value_of(ATTN_FP8_E4M3, bits_of(ATTN_FP8_E4M3, 464.0f)), 448.0f);
  EXPECT_TRUE(std::isnan(value_of(ATTN_FP8_E4M3, bits_of(ATTN_FP8_E4M3, 465.0f))));
  EXPECT_TRUE(std::isnan(value_of(ATTN_FP8_E4M3, bits_of(ATTN_FP8_E4M3, -inf))));
  EXPECT_EQ(value_of(ATTN_FP8_E5M2, bits_of(ATTN_FP8_E5M2, 61439.0f)), 57344.0f);
  EXPECT_EQ(value_of(ATTN_FP8_E5M2, bits_of(ATTN_FP8_E5M2, -61440.0f)), -inf);
  for (const std::int32_t dtype : {ATTN_FP16, ATTN_BF16, ATTN_FP8_E5M2}) EXPECT_EQ(value_of(dtype, bits_of(dtype, -inf)), -inf);
}

TEST(Dtype, WhatIsBelowHalfTheSmallestSubnormalBecomesZeroWithItsSign) {
  for (const std::int32_t dtype : small_dtypes()) {
    const float smallest = value_of(dtype, 1);
    EXPECT_EQ(bits_of(dtype, smallest / 4), 0u);
    EXPECT_EQ(bits_of(dtype, -smallest / 4), count_of(dtype) / 2);
    EXPECT_EQ(bits_of(dtype, smallest * 0.75f), 1u);
  }
}

}  // namespace
}  // namespace attn
