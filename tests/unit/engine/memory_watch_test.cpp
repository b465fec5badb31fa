#include "engine/memory_watch.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

namespace attn {
namespace {

constexpr std::int64_t kNoFloor = 0;

TEST(SteadyGrowth, IsSeenWhenEveryCallLeavesSomething) {
  EXPECT_EQ(steady_growth({0, 50, 60, 70, 80, 90, 100, 110, 120, 130}, kNoFloor), 10);
}

TEST(SteadyGrowth, IsNotAWarmUp) {
  EXPECT_EQ(steady_growth({0, 1000, 2000, 3000, 3000, 3000, 3000, 3000, 3000, 3000}, kNoFloor), 0);
}

TEST(SteadyGrowth, IsNotASingleStep) {
  EXPECT_EQ(steady_growth({0, 0, 0, 0, 0, 0, 0, 4096, 4096, 4096}, kNoFloor), 0);
  EXPECT_EQ(steady_growth({10, 20, 10, 20, 10, 20, 10, 20, 10, 20}, kNoFloor), 0);
}

TEST(SteadyGrowth, ComesToTheFloorWithinTheStepsThatAreLookedAt) {
  const std::vector<std::int64_t> held{0, 0, 0, 0, 100, 200, 300};
  EXPECT_EQ(steady_growth(held, 300), 100);
  EXPECT_EQ(steady_growth(held, 301), 0);
}

// What is found in a process of which malloc holds so much after each call: after `samples` calls, and as many again where there is doubt.
std::int64_t found(std::size_t samples, const std::function<std::int64_t()>& next) {
  MemoryWatch watch([&] { return HeldMemory{next(), 0}; });
  for (std::size_t i = 0; i < samples; ++i) watch.sample();
  watch.doubt([&] { watch.sample(); });
  return watch.growth_bytes().value();
}

// Levels that come and go, in the sizes of an allocator's blocks.
class Noise {
 public:
  Noise(unsigned seed, int most_bytes) : random_(seed), blocks_(0, most_bytes / 16) {}
  std::int64_t operator()() { return 16 * blocks_(random_); }

 private:
  std::mt19937 random_;
  std::uniform_int_distribution<std::int64_t> blocks_;
};

TEST(MemoryWatch, FindsNothingInAFewSmallStepsThatRiseByChance) {
  std::int64_t held = 0;
  EXPECT_EQ(found(7, [&] { return held += 112; }), 0);
}

TEST(MemoryWatch, FindsNothingInAThousandSeriesOfNoise) {
  for (const std::size_t samples : {16, 102})
    for (unsigned seed = 0; seed < 1000; ++seed) {
      for (const int most_bytes : {112, 4096, 1 << 20}) EXPECT_EQ(found(samples, Noise(seed, most_bytes)), 0) << seed;
      Noise step(seed, 224);
      std::int64_t walk = 0;
      EXPECT_EQ(found(samples, [&] { return walk += step() - 112; }), 0) << seed;
    }
}

TEST(MemoryWatch, FindsNothingInCachesThatFillForAWhile) {
  for (const std::size_t samples : {16, 102})
    for (std::size_t calls = 0; calls <= samples + samples / 2; ++calls) {
      std::size_t call = 0;
      std::int64_t held = 0;
      EXPECT_EQ(found(samples, [&] { return held += call++ < calls ? 8192 : 0; }), 0) << calls;
    }
}

TEST(MemoryWatch, FindsALeakUnderTheNoise) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    const auto leak = [&](std::size_t samples, std::int64_t bytes, int most_bytes) {
      Noise noise(seed, most_bytes);
      std::int64_t lost = 0;
      return found(samples, [&] { return (lost += bytes) + noise(); });
    };
    EXPECT_NEAR(static_cast<double>(leak(7, 65536, 4096)), 65536, 4096);
    EXPECT_NEAR(static_cast<double>(leak(16, 1000, 224)), 1000, 224);
    EXPECT_NEAR(static_cast<double>(leak(102, 300, 224)), 300, 112);
  }
}

TEST(MemoryWatch, CallsAgainOnlyWhereThereIsDoubt) {
  for (const std::int64_t bytes : {0, 4096}) {
    std::int64_t held = 0;
    MemoryWatch watch([&] { return HeldMemory{held += bytes, 0}; });
    for (int i = 0; i < 16; ++i) watch.sample();
    int calls = 0;
    watch.doubt([&] { ++calls, watch.sample(); });
    EXPECT_EQ(calls, bytes > 0 ? 16 : 0);
  }
}

TEST(MemoryWatch, FindsPagesOutsideOfMalloc) {
  std::int64_t resident = 0;
  MemoryWatch watch([&] { return HeldMemory{0, resident += 65536}; });
  for (int i = 0; i < 16; ++i) watch.sample();
  EXPECT_EQ(watch.growth_bytes(), 65536);
}

TEST(MemoryWatch, SeesALeakOfThisProcessAndNothingElse) {
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
