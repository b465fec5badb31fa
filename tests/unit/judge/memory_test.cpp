#include "judge/memory.hpp"

#include <gmock/gmock.h>

#include "scene.hpp"

namespace attn {
namespace {

using scene::Scene;
using testing::Contains;

TEST(Memory, AboveTheBaselineFails) {
  Scene s;
  s.now.memory.peak_bytes = 2100;
  EXPECT_EQ(s.verdict().reason, "peak_bytes 2100, baseline 2000 (+100 B)");
  s.input.gates.memory_floor_bytes = 100;
  EXPECT_EQ(s.verdict().outcome, Outcome::pass);
  s.input.gates.memory_floor_bytes = 0;
  s.input.gates.memory_tolerate = 0.05;
  EXPECT_EQ(s.verdict().outcome, Outcome::pass);
  s.now.memory.peak_bytes = 1000;
  EXPECT_EQ(s.verdict().outcome, Outcome::improved);
}

TEST(Memory, GrowthFailsByItself) {
  Scene s;
  s.no_baseline();
  s.now.memory.growth_bytes = 4096;
  EXPECT_EQ(s.verdict().reason, "memory grows by 4096 B in every call");
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
}

TEST(Memory, WhoseGrowthIsNotKnownIsNotJudgedByIt) {
  Scene s;
  EXPECT_THAT(s.verdict().not_judged, testing::IsEmpty());
  s.now.memory.growth_bytes.reset();
  EXPECT_EQ(s.verdict().outcome, Outcome::pass);
  EXPECT_THAT(s.verdict().not_judged, Contains("growth of memory: not measured"));
}

TEST(Memory, OfTwoSourcesIsNotCompared) {
  Scene s;
  s.now.memory.source = "torch";
  s.now.memory.peak_bytes = 99999;
  EXPECT_EQ(s.verdict().outcome, Outcome::pass);
  EXPECT_THAT(s.verdict().not_judged, Contains("memory: counted by torch, in the baseline by workspace"));
}

// A row whose opening took so many bytes at its baseline, and so many now.
struct Opening : Scene {
  Opening(std::int64_t before, std::int64_t after, const std::string& source = "allocator") {
    now.memory.prepare_peak_bytes = before;
    now.memory.prepare_source = source;
    keep();
    now.memory.prepare_peak_bytes = after;
  }
};

TEST(Memory, OfPrepareFollowsTheRuleOfTheCalls) {
  EXPECT_EQ(Opening(2000, 2000).verdict().outcome, Outcome::pass);
  EXPECT_EQ(Opening(2000, 1000).verdict().outcome, Outcome::improved);
  Opening more(2000, 2100);
  const Verdict verdict = more.verdict();
  EXPECT_EQ(verdict.reason, "prepare_peak_bytes 2100, baseline 2000 (+100 B)");
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings[0].metric, "prepare_peak_bytes");
  more.input.gates.memory_floor_bytes = 100;
  EXPECT_EQ(more.verdict().outcome, Outcome::pass);
}

TEST(Memory, OfPrepareIsJudgedWhereThatOfACallIsNotKnown) {
  Opening more(2000, 2100);
  more.now.memory.peak_bytes.reset();
  EXPECT_EQ(more.verdict().outcome, Outcome::regressed);
  EXPECT_THAT(more.verdict().not_judged, Contains("memory: peak_bytes not measured"));
}

TEST(Memory, NamesWhatWasNotMeasured) {
  Scene s;
  s.now.memory.peak_bytes.reset();
  s.now.memory.growth_bytes = 1048592;
  EXPECT_EQ(s.verdict().reason, "memory grows by 1048592 B in every call");
  EXPECT_THAT(s.verdict().not_judged, testing::ElementsAre("memory: peak_bytes not measured"));
  s.now.memory.growth_bytes.reset();
  EXPECT_THAT(s.verdict().not_judged, testing::ElementsAre("growth of memory: not measured", "memory: peak_bytes not measured"));
}

TEST(Memory, ResidentPagesAreNotCountedOneByOne) {
  constexpr std::int64_t kMiB = 1 << 20;
  EXPECT_EQ(Opening(10 * kMiB, 12 * kMiB, "resident").verdict().outcome, Outcome::pass);
  EXPECT_EQ(Opening(12 * kMiB, 10 * kMiB, "resident").verdict().outcome, Outcome::pass);
  EXPECT_EQ(Opening(10 * kMiB, 12 * kMiB + 4096, "resident").verdict().outcome, Outcome::regressed);
  EXPECT_EQ(Opening(12 * kMiB + 4096, 10 * kMiB, "resident").verdict().outcome, Outcome::improved);
}

TEST(Memory, OfPrepareThatTheBaselineLacksIsNotJudgedAndSaysSo) {
  Opening one(2000, 9000);
  one.baseline.memory.prepare_peak_bytes.reset();
  EXPECT_EQ(one.verdict().outcome, Outcome::pass);
  EXPECT_THAT(one.verdict().not_judged, Contains("memory of prepare: the baseline has none"));
  Opening other(2000, 9000);
  other.now.memory.prepare_source = "cupti";
  EXPECT_EQ(other.verdict().outcome, Outcome::pass);
  EXPECT_THAT(other.verdict().not_judged, Contains("memory of prepare: counted by cupti, in the baseline by allocator"));
}

}  // namespace
}  // namespace attn
