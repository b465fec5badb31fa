#include "engine/memory_watch.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <vector>

namespace attn {
namespace {

TEST(SteadyGrowth, IsSeenWhenEveryCallLeavesSomething) {
  EXPECT_EQ(steady_growth({0, 50, 60, 70, 80, 90, 100, 110, 120, 130}), 10);
}

TEST(SteadyGrowth, IsNotAWarmUp) {
  EXPECT_EQ(steady_growth({0, 1000, 2000, 3000, 3000, 3000, 3000, 3000, 3000, 3000}), 0);
}

TEST(SteadyGrowth, IsNotASingleStep) {
  EXPECT_EQ(steady_growth({0, 0, 0, 0, 0, 0, 0, 4096, 4096, 4096}), 0);
  EXPECT_EQ(steady_growth({10, 20, 10, 20, 10, 20, 10, 20, 10, 20}), 0);
}

TEST(MemoryWatch, SeesALeakAndNothingElse) {
  MemoryWatch leaking, steady;
  std::vector<void*> leaked;
  leaked.reserve(64);
  for (int i = 0; i < 20; ++i) {
    leaked.push_back(std::malloc(1000));
    leaking.sample();
  }
  for (int i = 0; i < 20; ++i) {
    std::free(std::malloc(1000));
    steady.sample();
  }
  EXPECT_GE(leaking.growth_bytes(), 1000);
  EXPECT_LE(leaking.growth_bytes(), 1100);
  EXPECT_EQ(steady.growth_bytes(), 0);
  for (void* block : leaked) std::free(block);
}

TEST(MemoryWatch, SaysNothingAboutTooFewCalls) {
  MemoryWatch watch;
  watch.sample();
  EXPECT_FALSE(watch.growth_bytes());
}

}  // namespace
}  // namespace attn
