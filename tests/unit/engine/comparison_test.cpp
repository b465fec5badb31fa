#include "engine/comparison.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace attn {
namespace {

Evaluation one_column() {
  Evaluation rows;
  rows.columns = 1;
  return rows;
}

// Rows of one column that are right at 0.5, of noise 1.
struct Rows {
  Evaluation expected = one_column(), naive = one_column();
  std::vector<double> found;

  void add(std::int64_t count, std::int64_t visible, double naive_error, double lse = 0) {
    for (std::int64_t i = 0; i < count; ++i) {
      expected.out.push_back(0.5);
      naive.out.push_back(0.5 + naive_error);
      found.push_back(0.5);
      expected.lse.push_back(lse + std::log(static_cast<double>(visible)));
      expected.noise.push_back(1);
      expected.visible.push_back(visible);
    }
  }
  Comparison with(double error_of_the_first, std::int32_t dtype = ATTN_FP32) {
    std::vector<double> rows = found;
    rows[0] += error_of_the_first;
    return compare(rows, expected, naive, dtype);
  }
  bool is_right_with(double error_of_the_first) { return !with(error_of_the_first).off[0]; }
};

TEST(Comparison, AFewLuckyRowsAreJudgedByThoseOfMoreKeys) {
  Rows rows;
  rows.add(2, 3, 0);
  rows.add(4, 6, 0);
  rows.add(20, 24, 1e-5);
  EXPECT_TRUE(rows.is_right_with(1.9e-5));
  EXPECT_FALSE(rows.is_right_with(2.1e-5));
}

TEST(Comparison, RowsThatAreASampleAreJudgedByThemselvesAndTheirNeighbours) {
  Rows rows;
  rows.add(5, 3, 0);
  rows.add(3, 6, 0);
  rows.add(20, 24, 1e-5);
  EXPECT_FALSE(rows.is_right_with(1e-6));
  rows.naive.out[6] += 1e-5;  // a neighbour
  EXPECT_TRUE(rows.is_right_with(1.9e-5));
}

TEST(Comparison, ACaseOfFewRowsSaysHalfAsMuch) {
  Rows rows;
  rows.add(3, 64, 1e-5);
  EXPECT_TRUE(rows.is_right_with(3.9e-5));
  EXPECT_FALSE(rows.is_right_with(4.1e-5));
}

TEST(Comparison, LuckOfEveryRowLeavesARoundingOfTheWeightsAndTwoUlp) {
  Rows rows;
  rows.add(20, 3, 0);
  const double ulp_of_half = 0x1p-24;
  EXPECT_TRUE(rows.is_right_with(2 * (0x1p-24 + 0x1p-22) + 2 * ulp_of_half));
  EXPECT_FALSE(rows.is_right_with(2 * (0x1p-24 + 0x1p-22) + 2.1 * ulp_of_half));
}

TEST(Comparison, LargeScoresRoundMore) {
  Rows rows;
  rows.add(20, 3, 0);
  EXPECT_FALSE(rows.is_right_with(4e-6));
  for (double& lse : rows.expected.lse) lse += 20;
  EXPECT_TRUE(rows.is_right_with(4e-6));
  EXPECT_FALSE(rows.is_right_with(1.4e-5));
}

// Gradients of keys: each row of scores has a size of its own there, and no log-sum-exp.
TEST(Comparison, LargeScoresRoundMoreWhereTheirSizeIsGiven) {
  Rows rows;
  rows.add(20, 3, 0);
  rows.expected.lse.assign(20, -std::numeric_limits<double>::infinity());
  rows.expected.score_size.assign(20, 0.0);
  EXPECT_FALSE(rows.is_right_with(4e-6));
  rows.expected.score_size.assign(20, 20.0);
  EXPECT_TRUE(rows.is_right_with(4e-6));
  EXPECT_FALSE(rows.is_right_with(1.4e-5));
}

// Two keys of one row: what one weight errs by the other does too, and the mean is the largest.
TEST(Comparison, TheMeanOfFewRowsMayBeTheLargest) {
  const auto with_errors = [](std::int64_t count) {
    Rows rows;
    rows.add(count, 3, 0);
    return compare(std::vector<double>(static_cast<std::size_t>(count), 0.5 + 4e-7), rows.expected, rows.naive, ATTN_FP32).right;
  };
  EXPECT_TRUE(with_errors(2));
  EXPECT_FALSE(with_errors(2000));
}

TEST(Comparison, WhatIsFlushedToZeroIsRightButWhereNothingButZeroIs) {
  for (const double smallest : {1e-41, 1e-37}) {
    Rows rows;
    rows.add(20, 3, 0);
    rows.expected.out.assign(20, smallest);
    rows.naive.out.assign(20, smallest);
    rows.expected.noise.assign(20, smallest);
    EXPECT_TRUE(compare(std::vector<double>(20, 0.0), rows.expected, rows.naive, ATTN_FP32).right);
    Rows zeros = rows;
    zeros.expected.out.assign(20, 0.0);
    zeros.expected.noise.assign(20, 0.0);
    EXPECT_FALSE(compare(std::vector<double>(20, smallest), zeros.expected, zeros.naive, ATTN_FP32).right);
  }
}

// The gradients of one visible key are exactly 0, and so are the naive ones; others cancel to a rounding.
TEST(Comparison, WhatCancelsToZeroMayErrByARoundingInEveryRow) {
  Rows rows;
  rows.add(50, 1, 0);
  rows.expected.out.assign(50, 0.0);
  rows.naive.out.assign(50, 0.0);
  EXPECT_TRUE(compare(std::vector<double>(50, 1e-7), rows.expected, rows.naive, ATTN_FP32).right);
  EXPECT_FALSE(compare(std::vector<double>(50, 3e-7), rows.expected, rows.naive, ATTN_FP32).right);
}

TEST(Comparison, BuriedRowsAreJudgedByEachOtherAlone) {
  constexpr double kFill = -65504;
  Rows living, buried;
  living.add(20, 16, 0), living.add(20, 16, 0.4, kFill + 3);
  buried.add(20, 16, 0.4, kFill + 3), buried.add(20, 16, 0);
  EXPECT_TRUE(living.with(0.002, ATTN_FP16).off[0]);
  EXPECT_FALSE(buried.with(0.7, ATTN_FP16).off[0]);
  EXPECT_TRUE(buried.with(0.9, ATTN_FP16).off[0]);
  EXPECT_TRUE(buried.with(0.7, ATTN_FP16).right) << "nor has the mean to do with them";
  EXPECT_LT(buried.with(0, ATTN_FP16).mean_budget, 0.002);
}

TEST(Comparison, ARowIsBuriedWhenItsScoresAreBeyondHalfTheRangeAndThere) {
  EXPECT_TRUE(is_buried(-65504 + 5, ATTN_FP16));
  EXPECT_TRUE(is_buried(-3.3895e38, ATTN_BF16));
  EXPECT_FALSE(is_buried(-65504 + 5, ATTN_BF16));
  EXPECT_FALSE(is_buried(-128, ATTN_FP16));
  EXPECT_FALSE(is_buried(-std::numeric_limits<double>::infinity(), ATTN_FP16)) << "dead";
}

}  // namespace
}  // namespace attn
