#include "stats/drift.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace attn {
namespace {

TEST(Trend, KnowsTheChanceOfARisingOrder) {
  // Five values in order: 2 of 120 orders are as one-sided.
  const Trend rising = trend(std::vector{100.0, 102.0, 104.0, 106.0, 108.0});
  EXPECT_NEAR(rising.probability, 2.0 / 120, 1e-12);
  EXPECT_NEAR(rising.rise, 1.08, 0.001);
  // One neighbouring pair swapped: 1 + 4 orders in each direction.
  EXPECT_NEAR(trend(std::vector{100.0, 104.0, 102.0, 106.0, 108.0}).probability, 10.0 / 120, 1e-12);
}

TEST(Trend, FallsAsItRises) {
  const Trend falling = trend(std::vector{108.0, 106.0, 104.0, 102.0, 100.0});
  EXPECT_NEAR(falling.probability, 2.0 / 120, 1e-12);
  EXPECT_LT(falling.rise, 0.93);
}

TEST(Trend, IsNoneInNoiseTiesAndFewValues) {
  EXPECT_GT(trend(std::vector{100.0, 97.0, 103.0, 99.0, 101.0}).probability, 0.4);
  EXPECT_DOUBLE_EQ(trend(std::vector{5.0, 5.0, 5.0, 5.0}).probability, 1);
  EXPECT_DOUBLE_EQ(trend(std::vector{1.0, 2.0}).probability, 1);
}

TEST(Trend, SlopeIgnoresOneOutlier) { EXPECT_NEAR(trend(std::vector{100.0, 100.0, 500.0, 100.0, 100.0}).rise, 1, 1e-12); }

TEST(ThirdsRatio, ComparesTheEndWithTheBeginning) {
  EXPECT_DOUBLE_EQ(thirds_ratio(std::vector{10.0, 10.0, 11.0, 11.0, 12.0, 12.0}), 1.2);
  EXPECT_DOUBLE_EQ(thirds_ratio(std::vector{10.0, 20.0}), 1);
}

}  // namespace
}  // namespace attn
