#include "stats/summary.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace attn {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoMiddleValues) {
  EXPECT_DOUBLE_EQ(median(std::vector{3.0, 1.0, 2.0}), 2);
  EXPECT_DOUBLE_EQ(median(std::vector{4.0, 1.0, 2.0, 3.0}), 2.5);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  const std::vector values{10.0, 20.0, 30.0, 40.0};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 10);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 17.5);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 40);
  EXPECT_DOUBLE_EQ(quantile(values, 7), 40);
}

TEST(RobustDeviation, IgnoresOneOutlier) {
  EXPECT_DOUBLE_EQ(robust_deviation(std::vector{1.0, 2.0, 3.0, 4.0, 1000.0}), 1.4826);
}

TEST(Variation, IsDeviationOverMean) {
  EXPECT_DOUBLE_EQ(variation(std::vector{90.0, 110.0}), std::sqrt(200.0) / 100);
  EXPECT_TRUE(std::isnan(variation(std::vector{1.0})));
}

TEST(GridStep, IsFoundWhereValuesRepeat) {
  EXPECT_NEAR(grid_step(std::vector{0.03, 0.03, 0.04, 0.03}), 0.01, 1e-9);
  EXPECT_DOUBLE_EQ(grid_step(std::vector{1536.0, 1568.0, 1536.0, 1632.0}), 32);  // CUPTI's clock on an H200
  EXPECT_DOUBLE_EQ(grid_step(std::vector{1501.5, 1501.5, 1502.0}), 0.5);
}

TEST(GridStep, IsNoneWhereNothingRepeats) {
  EXPECT_DOUBLE_EQ(grid_step(std::vector{10.0, 20.0, 30.0}), 0);
  EXPECT_DOUBLE_EQ(grid_step({}), 0);
}

}  // namespace
}  // namespace attn
