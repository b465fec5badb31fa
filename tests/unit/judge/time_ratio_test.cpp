#include "judge/time_ratio.hpp"

#include <gmock/gmock.h>

#include <random>

#include "scene.hpp"

namespace attn {
namespace {

using scene::Scene;
using testing::Contains;
using testing::HasSubstr;

// A row of `b` and one of `naive` on the same case; `b` is to take at most `at_most` times as long.
struct Race {
  Race(double mine, double theirs, double at_most, std::size_t blocks = 3) {
    here.now.blocks = scene::blocks_of(mine, blocks);
    there.now.blocks = scene::blocks_of(theirs, blocks);
    there.now.backend = "naive";
    here.no_baseline();
    here.input.other_backends["naive"] = &there.now;
    Expectation& expectation = here.input.expectations.emplace_back();
    expectation.time_ratio = TimeRatio{"naive", at_most};
    expectation.place.line = 7;
  }
  Verdict verdict() const { return here.verdict(); }
  bool wants_more() const { return wants_more_blocks(here.input); }
  Scene here, there;
};

TEST(TimeRatio, ASlowerRowFailsWithoutABaseline) {
  const Verdict verdict = Race(2e6, 1e6, 0.5).verdict();
  EXPECT_EQ(verdict.outcome, Outcome::regressed);
  EXPECT_THAT(verdict.reason, testing::MatchesRegex("device_ns 2[.]00 ms, 2x [(]1[.]9.*x to 2[.]0.*x[)] of naive's 1[.]00 ms, expected at most 0[.]5x"));
  ASSERT_EQ(verdict.findings.size(), 1u);
  const Finding& finding = verdict.findings[0];
  EXPECT_EQ(finding.gate, Gate::latency);
  EXPECT_EQ(finding.metric, "device_ns");
  EXPECT_EQ(finding.line, 7);
  EXPECT_EQ(finding.threshold, 0.5);
  EXPECT_NEAR(*finding.ratio, 2, 0.02);
  EXPECT_LT(*finding.low, *finding.high);
}

TEST(TimeRatio, WhatIsFastEnoughPasses) {
  EXPECT_EQ(Race(4e5, 1e6, 0.5).verdict().outcome, Outcome::no_baseline);
  EXPECT_EQ(Race(1.02e6, 1e6, 1.05).verdict().outcome, Outcome::no_baseline);
  EXPECT_FALSE(Race(4e5, 1e6, 0.5).wants_more());
}

TEST(TimeRatio, FewBlocksAskForMore) {
  for (const std::size_t blocks : {1u, 2u}) {
    const Race few(2e6, 1e6, 0.5, blocks);
    EXPECT_EQ(few.verdict().outcome, Outcome::undecided) << blocks;
    EXPECT_TRUE(few.wants_more()) << blocks;
  }
  EXPECT_FALSE(Race(2e6, 1e6, 0.5, 3).wants_more());
}

TEST(TimeRatio, WhatLiesOnTheLimitIsUndecided) {
  Race race(1e6, 1e6, 1.0);
  EXPECT_EQ(race.verdict().outcome, Outcome::undecided);
  EXPECT_THAT(race.verdict().reason, HasSubstr("3 blocks cannot tell it from the expected 1x"));
  EXPECT_TRUE(race.wants_more());
  Race last(1e6, 1e6, 1.0, 5);
  EXPECT_EQ(last.verdict().outcome, Outcome::undecided);
  EXPECT_FALSE(last.wants_more());
}

// Blocks come one by one and each is looked at, as a run does it.
TEST(TimeRatio, NoiseDoesNotFailWhatKeepsItsLimit) {
  std::mt19937 random(11);
  std::normal_distribution<double> noise(0, 0.1);
  int failed = 0, found = 0;
  for (int i = 0; i < 400; ++i)
    for (const double mine : {1e6, 2e6}) {
      Race race(mine, 1e6, 1.2, 5);
      for (Scene* each : {&race.here, &race.there})
        for (Block& block : each->now.blocks) *block.device_ns *= std::exp(noise(random));
      const auto all = race.here.now.blocks, theirs = race.there.now.blocks;
      Outcome outcome = Outcome::undecided;
      for (std::size_t blocks = 2; blocks <= 5; ++blocks) {
        race.here.now.blocks.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(blocks));
        race.there.now.blocks.assign(theirs.begin(), theirs.begin() + static_cast<std::ptrdiff_t>(blocks));
        outcome = race.verdict().outcome;
        if (!race.wants_more()) break;
      }
      (mine == 1e6 ? failed : found) += outcome == Outcome::regressed;
    }
  EXPECT_LE(failed, 4);
  EXPECT_GE(found, 396);
}

TEST(TimeRatio, WhatCannotBeComparedIsSaidAndNamed) {
  Race absent(2e6, 1e6, 0.5);
  absent.here.input.other_backends.clear();
  EXPECT_EQ(absent.verdict().outcome, Outcome::no_baseline);
  EXPECT_THAT(absent.verdict().not_judged, Contains("time_ratio: naive has no row of this case in this run"));
  Race unsupported(2e6, 1e6, 0.5);
  unsupported.there.now.status = Status::unsupported;
  EXPECT_THAT(unsupported.verdict().not_judged, Contains("time_ratio: naive is unsupported on this case"));
  Race instruments(2e6, 1e6, 0.5);
  instruments.there.now.blocks = scene::blocks_of(1e6, 3, Instrument::events);
  EXPECT_THAT(instruments.verdict().not_judged, Contains(HasSubstr("two instruments")));
  Race blocked(2e6, 1e6, 0.5);
  blocked.here.input.latency_blocked = "another process computes on GPU 0";
  EXPECT_THAT(blocked.verdict().not_judged, Contains("time_ratio: another process computes on GPU 0"));
  Race off(2e6, 1e6, 0.5);
  off.here.input.gates.enabled.erase(Gate::latency);
  EXPECT_EQ(off.verdict().outcome, Outcome::no_baseline);
}

TEST(TimeRatio, NobodyRacesItself) {
  Race race(2e6, 1e6, 0.5);
  race.here.now.backend = "naive";
  race.here.input.other_backends["naive"] = &race.here.now;
  EXPECT_EQ(race.verdict().outcome, Outcome::no_baseline);
}

}  // namespace
}  // namespace attn
