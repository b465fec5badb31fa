#include "core/units.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace attn {
namespace {

TEST(Units, KeepThreeDigitsOfADuration) {
  EXPECT_EQ(duration_text(0), "0.00 ns");
  EXPECT_EQ(duration_text(412), "412 ns");
  EXPECT_EQ(duration_text(31'240), "31.2 us");
  EXPECT_EQ(duration_text(3'214'000), "3.21 ms");
  EXPECT_EQ(duration_text(12.04e9), "12.0 s");
  EXPECT_EQ(duration_text(4321e9), "4321 s");
}

TEST(Units, ChooseTheUnitByTheRoundedValue) {
  EXPECT_EQ(duration_text(999.4), "999 ns");
  EXPECT_EQ(duration_text(999.7), "1.00 us");
  EXPECT_EQ(duration_text(999'700), "1.00 ms");
}

TEST(Units, WriteWholeBytesWithoutDecimals) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(268435456), "256 MiB");
  EXPECT_EQ(bytes_text(5.5 * 1024 * 1024 * 1024), "5.50 GiB");
}

TEST(Units, CountFlopsInThousands) {
  EXPECT_EQ(flops_text(34.36e9), "34.4 GFLOP");
  EXPECT_EQ(flops_text(12), "12 FLOP");
  EXPECT_EQ(flops_text(1.5e15), "1.50 PFLOP");
}

TEST(Units, TurnARatioIntoAChange) {
  EXPECT_EQ(change_text(1.0), "+0.0%");
  EXPECT_EQ(change_text(1.032), "+3.2%");
  EXPECT_EQ(change_text(0.996), "-0.4%");
  EXPECT_EQ(change_text(2.411), "x2.41");
  EXPECT_EQ(change_text(0.4), "x0.40");
}

TEST(Units, SayThatANumberIsNone) {
  EXPECT_EQ(duration_text(std::numeric_limits<double>::quiet_NaN()), "?");
  EXPECT_EQ(change_text(std::numeric_limits<double>::infinity()), "?");
}

TEST(Units, WriteElapsedTimeLikeAClock) {
  EXPECT_EQ(elapsed_text(8.2), "8s");
  EXPECT_EQ(elapsed_text(184), "3m04s");
  EXPECT_EQ(elapsed_text(3725), "1h02m");
}

}  // namespace
}  // namespace attn
