#include "cli/busy_machine.hpp"

#include <gmock/gmock.h>

namespace attn {
namespace {

TEST(BusyMachine, IsToldByItsLoadAndItsSize) {
  EXPECT_EQ(busy_text("2.89 3.09 3.14 3/312 4711", 2), "the machine is busy: load average 2.89 over the last minute, 2 processors");
  EXPECT_EQ(busy_text("0.99 3.09 3.14 3/312 4711", 2), "");
  EXPECT_EQ(busy_text("2.89 3.09 3.14 3/312 4711", 64), "");
  EXPECT_NE(busy_text("16.00 3.09 3.14 3/312 4711", 64), "");
}

TEST(BusyMachine, IsNotKnownWithoutALoad) {
  EXPECT_EQ(busy_text("", 2), "");
  EXPECT_EQ(busy_text("busy", 2), "");
  EXPECT_EQ(busy_text("2.89", -1), "");
}

TEST(BusyGpu, IsToldByTheRowsBesideWhichOthersComputed) {
  Row quiet, disturbed;
  quiet.measurement.blocks.resize(2);
  disturbed.measurement.blocks.resize(2);
  disturbed.measurement.blocks[1].other_processes = 1;
  EXPECT_EQ(busy_gpu({&quiet, &quiet}), "");
  EXPECT_EQ(busy_gpu({&quiet, &disturbed}), "other processes computed on the GPU while 1 of 2 rows were measured");
}

}  // namespace
}  // namespace attn
