#include "judge/memory_slope.hpp"

#include <gmock/gmock.h>

#include "scene.hpp"

namespace attn {
namespace {

using scene::Scene;
using testing::Contains;
using testing::HasSubstr;

std::string id_of(std::int64_t seq) {
  Case c;
  c.name = "m";
  c.seq_q = c.seq_kv = seq;
  return case_id(c);
}

// A row of 512 tokens and one of 128.
struct Growth {
  Growth(std::int64_t smaller_peak, std::int64_t peak, double at_most = 1.1) {
    small.now.case_id = id_of(128);
    large.now.case_id = id_of(512);
    small.now.memory.peak_bytes = smaller_peak;
    large.now.memory.peak_bytes = peak;
    large.no_baseline();
    large.input.smaller[SizeAxis::seq] = {small.now.case_id, &small.now};
    Expectation& expectation = large.input.expectations.emplace_back();
    expectation.memory_slope = MemorySlope{SizeAxis::seq, at_most};
    expectation.place.line = 9;
  }
  Verdict verdict() const { return large.verdict(); }
  Scene small, large;
};

TEST(MemorySlope, TheSquareOfTheSizeFails) {
  const Verdict verdict = Growth(1000, 16000).verdict();
  EXPECT_EQ(verdict.outcome, Outcome::regressed);
  EXPECT_EQ(verdict.reason, "peak_bytes 1000 at seq 128, 16000 at 512: it grows with seq to the power 2.00, expected at most 1.1");
  ASSERT_EQ(verdict.findings.size(), 1u);
  const Finding& finding = verdict.findings[0];
  EXPECT_EQ(finding.gate, Gate::memory);
  EXPECT_EQ(finding.metric, "peak_bytes");
  EXPECT_EQ(finding.line, 9);
  EXPECT_EQ(finding.ratio, 16);
  EXPECT_NEAR(*finding.threshold, 4.595, 0.001);
}

TEST(MemorySlope, TheLimitItselfIsAllowed) {
  EXPECT_EQ(Growth(1000, 4000, 1).verdict().outcome, Outcome::no_baseline);
  EXPECT_EQ(Growth(1000, 4001, 1).verdict().outcome, Outcome::regressed);
  EXPECT_EQ(Growth(1000, 16000, 2).verdict().outcome, Outcome::no_baseline);
  EXPECT_EQ(Growth(1000, 1000, 0).verdict().outcome, Outcome::no_baseline);
  EXPECT_EQ(Growth(1000, 1001, 0).verdict().outcome, Outcome::regressed);
}

TEST(MemorySlope, TheSmallestRowHasNothingToSay) {
  Growth growth(1000, 16000);
  growth.large.input.smaller.clear();
  EXPECT_EQ(growth.verdict().outcome, Outcome::no_baseline);
  EXPECT_THAT(growth.verdict().not_judged, Not(Contains(HasSubstr("memory_slope"))));
}

TEST(MemorySlope, WhatCannotBeComparedIsSaidAndNamed) {
  Growth absent(1000, 16000);
  absent.large.input.smaller[SizeAxis::seq].measurement = nullptr;
  EXPECT_EQ(absent.verdict().outcome, Outcome::no_baseline);
  EXPECT_THAT(absent.verdict().not_judged, Contains("memory_slope: " + id_of(128) + " is no part of this run"));
  Growth wrong(1000, 16000);
  wrong.small.now.status = Status::wrong;
  EXPECT_THAT(wrong.verdict().not_judged, Contains("memory_slope: " + id_of(128) + " is wrong"));
  Growth unmeasured(1000, 16000);
  unmeasured.large.now.memory.peak_bytes.reset();
  EXPECT_THAT(unmeasured.verdict().not_judged, Contains("memory_slope: " + id_of(512) + " has no peak_bytes"));
  Growth sources(1000, 16000);
  sources.small.now.memory.source = "torch";
  EXPECT_THAT(sources.verdict().not_judged, Contains("memory_slope: counted by workspace, in " + id_of(128) + " by torch"));
  Growth off(1000, 16000);
  off.large.input.gates.enabled.erase(Gate::memory);
  EXPECT_EQ(off.verdict().outcome, Outcome::no_baseline);
}

// The opening of a row of 512 tokens, and of one of 128.
struct OpeningGrowth : Growth {
  OpeningGrowth(std::int64_t smaller_peak, std::int64_t peak, const std::string& source = "allocator") : Growth(1000, 1000) {
    large.input.expectations[0].memory_slope->of = PeakOf::prepare;
    for (const auto& [scene, bytes] : {std::pair{&small, smaller_peak}, std::pair{&large, peak}}) {
      scene->now.memory.prepare_peak_bytes = bytes;
      scene->now.memory.prepare_source = source;
    }
  }
};

TEST(MemorySlope, OfPrepareIsThatOfOpening) {
  const Verdict verdict = OpeningGrowth(1000, 16000).verdict();
  EXPECT_EQ(verdict.reason, "prepare_peak_bytes 1000 at seq 128, 16000 at 512: it grows with seq to the power 2.00, expected at most 1.1");
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings[0].metric, "prepare_peak_bytes");
  OpeningGrowth unmeasured(1000, 16000);
  unmeasured.small.now.memory.prepare_peak_bytes.reset();
  EXPECT_THAT(unmeasured.verdict().not_judged, Contains("memory_slope: " + id_of(128) + " has no prepare_peak_bytes"));
  OpeningGrowth sources(1000, 16000);
  sources.small.now.memory.prepare_source = "cupti";
  EXPECT_THAT(sources.verdict().not_judged, Contains("memory_slope: counted by allocator, in " + id_of(128) + " by cupti"));
}

TEST(MemorySlope, WhatTakesNothingDoesNotGrow) {
  constexpr std::int64_t kMiB = 1 << 20;
  EXPECT_EQ(OpeningGrowth(0, 0).verdict().outcome, Outcome::no_baseline);
  EXPECT_EQ(OpeningGrowth(0, 512).verdict().outcome, Outcome::no_baseline) << "one block of an allocator";
  EXPECT_EQ(OpeningGrowth(0, 1 << 20).verdict().outcome, Outcome::regressed);
  EXPECT_EQ(OpeningGrowth(4096, 2 * kMiB, "resident").verdict().outcome, Outcome::no_baseline) << "less than the kernel's books tell apart";
  EXPECT_EQ(OpeningGrowth(4096, 16 * kMiB, "resident").verdict().outcome, Outcome::regressed);
}

}  // namespace
}  // namespace attn
