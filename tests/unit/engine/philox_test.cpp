#include "engine/philox.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

namespace attn {
namespace {

using testing::ElementsAre;

// The authors' known answers (Random123, kat_vectors, philox4x32 10).
TEST(Philox, GivesTheAuthorsKnownAnswers) {
  EXPECT_THAT(philox4x32({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  const std::uint32_t all = 0xffffffffu;
  EXPECT_THAT(philox4x32({all, all, all, all}, {all, all}), ElementsAre(0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu));
  EXPECT_THAT(philox4x32({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, {0xa4093822u, 0x299f31d0u}),
              ElementsAre(0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u));
}

TEST(Philox, NumbersDependOnTheirIndexAndNotOnWhereARangeBegins) {
  std::vector<float> whole(37);
  random_normals(5, RandomStream::k, 0, 37, whole.data());
  for (std::uint64_t first = 0; first < 8; ++first)
    for (std::int64_t count = 0; count < 9; ++count) {
      std::vector<float> part(static_cast<std::size_t>(count));
      random_normals(5, RandomStream::k, first, count, part.data());
      for (std::size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i], whole[first + i]) << first << " " << count;
    }
}

TEST(Philox, NormalsHaveMeanZeroAndDeviationOneAndDifferBetweenStreams) {
  constexpr std::int64_t kCount = 1 << 18;
  std::vector<float> a(kCount), b(kCount);
  random_normals(1, RandomStream::q, 0, kCount, a.data());
  random_normals(1, RandomStream::v, 0, kCount, b.data());
  double sum = 0, squares = 0, products = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i];
    squares += static_cast<double>(a[i]) * a[i];
    products += static_cast<double>(a[i]) * b[i];
    largest = std::max(largest, std::fabs(static_cast<double>(a[i])));
  }
  const double five_sigma = 5 / std::sqrt(static_cast<double>(kCount));
  EXPECT_NEAR(sum / kCount, 0, five_sigma);
  EXPECT_NEAR(squares / kCount, 1, 2 * five_sigma);
  EXPECT_NEAR(products / kCount, 0, five_sigma);
  EXPECT_LT(largest, 3.47);
  EXPECT_GT(largest, 3.0);
}

// Pins the numbers: stored inputs, and a kernel that makes the same on a device, rely on them.
TEST(Philox, NormalsAreTheSumOfFourHalves) {
  const std::uint32_t low = random_bits(9, RandomStream::q, 14), high = random_bits(9, RandomStream::q, 15);
  float number = 0;
  random_normals(9, RandomStream::q, 7, 1, &number);
  const int sum = static_cast<int>((low & 0xffff) + (low >> 16) + (high & 0xffff) + (high >> 16));
  EXPECT_EQ(number, static_cast<float>(sum - 131070) * static_cast<float>(std::sqrt(3.0) / 65536));
}

}  // namespace
}  // namespace attn
