#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <random>

#include "scene.hpp"

namespace attn {
namespace {

using scene::Scene;
using testing::Contains;
using testing::HasSubstr;

TEST(Latency, ASuspicionOnFewBlocksAsksForMoreAndFailsNobody) {
  Scene s;
  for (const std::size_t blocks : {1u, 2u}) {
    s.slower(3, blocks);
    EXPECT_EQ(s.verdict().outcome, Outcome::undecided);
    EXPECT_TRUE(wants_more_blocks(s.input)) << blocks;
  }
  s.slower(3, 3);
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
  EXPECT_FALSE(wants_more_blocks(s.input)) << "confirmed";
  s.slower(1.45, 4);
  EXPECT_EQ(s.verdict().outcome, Outcome::undecided);
  EXPECT_TRUE(wants_more_blocks(s.input)) << "between the middle and detect all blocks are needed";
  s.slower(1.45, 5);
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
}

TEST(Latency, NoSuspicionAsksForNothing) {
  Scene s;
  for (const std::size_t blocks : {1u, 2u, 5u}) {
    s.slower(1, blocks);
    EXPECT_EQ(s.verdict().outcome, Outcome::pass) << blocks;
    EXPECT_FALSE(wants_more_blocks(s.input)) << blocks;
  }
}

TEST(Latency, StopsAtTheMostBlocks) {
  Scene s;
  for (std::size_t i = 0; i < 5; ++i) s.now.blocks[i].device_ns = 1e6 * (1 + 0.37 * static_cast<double>(i));
  EXPECT_EQ(s.verdict().outcome, Outcome::undecided);
  EXPECT_FALSE(wants_more_blocks(s.input));
  s.input.max_blocks = 8;
  EXPECT_TRUE(wants_more_blocks(s.input));
}

TEST(Latency, AParentThatMayMeasureOneBlockDecidesOnOne) {
  Scene s;
  s.input.max_blocks = 1;
  s.slower(3, 1);
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
}

TEST(Latency, OneValueAgainstOneDecidesNothing) {
  Scene s;
  s.baseline.device_ns.resize(1);
  s.slower(3, 1);
  s.input.max_blocks = 1;
  EXPECT_EQ(s.verdict().outcome, Outcome::undecided);
}

TEST(Latency, ARowThatFailsAnywayIsNotMeasuredAgain) {
  Scene s;
  s.calls(scene::with_copy());
  s.slower(3, 2);
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
  EXPECT_FALSE(wants_more_blocks(s.input));
}

TEST(Latency, TheSlowerOperationIsNamed) {
  Scene s;
  s.calls(scene::in_place(1'200'000));
  s.keep();
  s.calls(scene::in_place(2'520'000));
  s.slower(2.1);
  EXPECT_THAT(s.verdict().reason, HasSubstr("allowed 25%: cpu_softmax 2.1x slower (1.20 ms -> 2.52 ms)"));
  const Finding finding = s.verdict().findings[0];
  EXPECT_NEAR(*finding.ratio, 2.1, 0.01);
  EXPECT_LT(*finding.low, *finding.ratio);
  EXPECT_GT(*finding.high, *finding.ratio);
  EXPECT_DOUBLE_EQ(*finding.threshold, 1.25);
}

TEST(Latency, TheRatioThatIsToldIsTheOneOfTheTimesBesideIt) {
  Scene s;
  s.input.tell_times = true;
  s.baseline.device_ns = {1e6, 1e6, 9e6};
  s.slower(1, 3);
  const double now[] = {2e5, 1.6e6, 1.8e6};
  for (std::size_t i = 0; i < 3; ++i) s.now.blocks[i].device_ns = now[i];
  const Finding finding = s.verdict().findings[0];
  EXPECT_DOUBLE_EQ(*finding.ratio, 1.6);
  EXPECT_THAT(finding.message, HasSubstr("device_ns 1.00 ms -> 1.60 ms, 1.6x ("));
}

TEST(Latency, TheRatioThatIsToldLiesInItsInterval) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> noise(0, 0.5);
  Scene s;
  s.input.tell_times = true;
  std::size_t seen = 0;
  for (int turn = 0; turn < 4000; ++turn) {
    s.slower(1, 1 + random() % 5);
    for (Block& block : s.now.blocks) block.device_ns = 1e6 * noise(random);
    s.baseline.device_ns.assign(1 + random() % 10, 0);
    for (double& each : s.baseline.device_ns) each = 1e6 * noise(random);
    const Finding finding = s.verdict().findings.at(0);
    if (!finding.high) continue;  // one against one says nothing
    ++seen;
    ASSERT_LE(*finding.low, *finding.ratio) << finding.message;
    ASSERT_GE(*finding.high, *finding.ratio) << finding.message;
  }
  EXPECT_GT(seen, 3000u);
}

TEST(Latency, WhatWasAddedIsBlamedBeforeWhatGotSlower) {
  Scene s;
  s.input.gates.enabled.erase(Gate::copies);
  s.calls(scene::with_copy());
  s.slower(2);
  EXPECT_THAT(s.verdict().reason, HasSubstr("allowed 25%: +1 memcpy cpu_memcpy_scores of 33554432 B after cpu_scale"));
}

TEST(Latency, DifferencesBelowTheFloorPass) {
  Scene s;
  s.slower(2);
  s.input.gates.latency->floor_ns = 1.1e6;
  EXPECT_EQ(s.verdict().outcome, Outcome::pass);
  EXPECT_THAT(s.verdict().reason, HasSubstr("below the floor of 1.10 ms"));
  s.input.gates.latency->floor_ns = 0.9e6;
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
}

// 0.03 s -> 0.04 s read from a clock that knows hundredths: a rounding step, though it is 133 %.
TEST(Latency, OneStepOfACoarseClockIsNoRegression) {
  Scene s;
  s.input.gates.latency->tolerate = 0.05;
  s.input.gates.latency->detect = 0.15;
  const auto read = [&](std::vector<double> before, std::vector<double> now) {
    s.baseline.device_ns = std::move(before);
    s.now.blocks = scene::blocks_of(1, now.size());
    for (std::size_t i = 0; i < now.size(); ++i) s.now.blocks[i].device_ns = now[i];
    return s.verdict().outcome;
  };
  EXPECT_EQ(read({3e7, 3e7, 3e7, 3e7, 3e7}, {4e7, 4e7, 4e7, 4e7, 4e7}), Outcome::pass);
  EXPECT_EQ(read({3e7, 3e7, 3e7, 4e7, 3e7}, {4e7, 4e7, 3e7, 4e7, 4e7}), Outcome::pass);
  EXPECT_EQ(read({3e7, 3e7, 3e7, 3e7, 3e7}, {9e7, 9e7, 9e7, 9e7, 9e7}), Outcome::regressed);
  EXPECT_EQ(read({1e7, 1e7, 1e7, 1e7, 1e7}, {2e7, 2e7, 2e7, 2e7, 2e7}), Outcome::regressed) << "round numbers alone are no coarse clock";
  s.input.resolution_ns = 1e7;
  EXPECT_EQ(read({1.01e7, 1.02e7, 1.03e7, 1.0e7, 1.04e7}, {1.91e7, 1.92e7, 1.93e7, 1.9e7, 1.94e7}), Outcome::pass);
}

TEST(Latency, HeatInsideTheBlocksIsUndecided) {
  Scene s(DeviceType::cuda);
  s.slower(1.17);
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
  for (Block& block : s.now.blocks) block.drift = 1.25;
  EXPECT_EQ(s.verdict().outcome, Outcome::undecided);
  EXPECT_THAT(s.verdict().reason, HasSubstr("heat or throttling"));
}

TEST(Latency, HeatFromBlockToBlockIsUndecided) {
  Scene s(DeviceType::cuda);
  for (std::size_t i = 0; i < 5; ++i) s.now.blocks[i].device_ns = 1e6 * (1.04 + 0.04 * static_cast<double>(i));
  EXPECT_EQ(s.verdict().outcome, Outcome::undecided);
  std::swap(s.now.blocks[0], s.now.blocks[4]);
  std::swap(s.now.blocks[1], s.now.blocks[2]);
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed) << "the same times without an order are no drift";
}

TEST(Latency, AClockThatFellIsTheMachines) {
  Scene s(DeviceType::cuda);
  s.baseline.sm_clock_mhz = {1980, 1980, 1965};
  s.slower(1.17);
  for (Block& block : s.now.blocks) block.sm_clock_mhz = 1980;
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
  for (Block& block : s.now.blocks) block.sm_clock_mhz = 1695, block.throttle = "power cap";
  EXPECT_EQ(s.verdict().outcome, Outcome::environment_shift);
  EXPECT_THAT(s.verdict().reason, HasSubstr("clock fell from 1980 to 1695 MHz (power cap), which explains it"));
  s.slower(1.5);
  for (Block& block : s.now.blocks) block.sm_clock_mhz = 1695;
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed) << "it explains 17 % and no more";
  s.baseline.sm_clock_mhz.clear();
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
}

TEST(Latency, DriftDoesNotExcuseMoreThanItExplains) {
  Scene s(DeviceType::cuda);
  s.slower(2);
  for (Block& block : s.now.blocks) block.drift = 1.25;
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
}

TEST(Latency, TheControlRowsExcuseOnlyWhatTheyShow) {
  Scene s;
  s.slower(3);
  s.input.control = Interval{1.4, 1.3, 1.5};
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
  s.input.control = Interval{2.5, 2.0, 3.1};
  EXPECT_EQ(s.verdict().outcome, Outcome::environment_shift);
  s.input.control = Interval{0.5, 0.4, 0.6};
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed) << "the other direction";
  s.slower(0.5);
  EXPECT_EQ(s.verdict().outcome, Outcome::pass) << "a faster machine is no improvement";
  s.slower(1);
  s.calls(scene::with_copy());
  s.input.control = Interval{2.5, 2.0, 3.1};
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed) << "counts do not depend on the machine's mood";
}

TEST(Latency, TellsTheTimesOfARowThatPassesWhereAskedTo) {
  Scene s;
  EXPECT_THAT(s.verdict().findings, testing::IsEmpty());
  s.input.tell_times = true;
  const Verdict verdict = s.verdict();
  EXPECT_EQ(verdict.outcome, Outcome::pass);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings[0].outcome, Outcome::pass);
  EXPECT_THAT(verdict.reason, HasSubstr("device_ns 1.00 ms -> 1.00 ms, 1x (0.99"));
  EXPECT_TRUE(verdict.findings[0].low && verdict.findings[0].high);
}

// A baseline of a slow hour would hide a fault of the same size.
TEST(Latency, AFasterMachineThatTheRowDoesNotFollowIsAShift) {
  Scene s;
  s.input.control = Interval{0.45, 0.4, 0.5};
  for (const double ratio : {0.9, 1.0, 1.2}) {
    s.slower(ratio, 2);
    EXPECT_EQ(s.verdict().outcome, Outcome::undecided) << ratio;
    EXPECT_TRUE(wants_more_blocks(s.input)) << ratio;
    s.slower(ratio, 3);
    EXPECT_EQ(s.verdict().outcome, Outcome::environment_shift) << ratio;
    EXPECT_FALSE(wants_more_blocks(s.input)) << ratio;
  }
  s.slower(0.5);
  EXPECT_EQ(s.verdict().outcome, Outcome::pass) << "it has followed";
  s.slower(3);
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed) << "slower than before on any machine";
  s.slower(1);
  s.input.control = Interval{0.9, 0.85, 0.95};
  EXPECT_EQ(s.verdict().outcome, Outcome::pass) << "within what is tolerated";
}

TEST(Latency, IsNotJudgedWhereTheNumbersAreNotOfOneKind) {
  const auto reason = [](auto&& set) {
    Scene s;
    s.slower(3);
    set(s);
    const Verdict verdict = s.verdict();
    EXPECT_EQ(verdict.outcome, Outcome::pass);
    EXPECT_FALSE(wants_more_blocks(s.input));
    EXPECT_EQ(verdict.not_judged.size(), 1u);
    return verdict.not_judged.empty() ? "" : verdict.not_judged[0];
  };
  EXPECT_EQ(reason([](Scene& s) { s.baseline.instrument = Instrument::clock; }), "latency: instrument reported, baseline clock: numbers of two instruments are not compared");
  EXPECT_EQ(reason([](Scene& s) { s.baseline.cache = Cache::warm; }), "latency: cache cold, baseline warm");
  EXPECT_EQ(reason([](Scene& s) { s.baseline.platform = "cpu.other"; }), "latency: platform cpu.model.2t, baseline cpu.other");
  EXPECT_EQ(reason([](Scene& s) { s.input.times_baseline = nullptr; }), "latency: no baseline for platform cpu.model.2t");
  EXPECT_EQ(reason([](Scene& s) { s.input.latency_blocked = "another process computes on GPU 0"; }), "latency: another process computes on GPU 0");
  EXPECT_EQ(reason([](Scene& s) { s.now.blocks.clear(); }), "latency: not measured");
  EXPECT_EQ(reason([](Scene& s) { s.baseline.device_ns.clear(); }), "latency: the baseline has no device_ns");
  EXPECT_EQ(reason([](Scene& s) { s.now.control = true; }), "latency: a control row shows the machine, not a backend");
  EXPECT_EQ(reason([](Scene& s) { s.input.gates.switched_off = {Gate::latency}, s.input.gates.enabled.erase(Gate::latency); }), "latency: switched off");
}

// 1.3 ms of host work before the launch: device time flat, the call 1.7 times as long.
TEST(Latency, ASlowHostIsFoundBehindAFlatDeviceTime) {
  Scene s(DeviceType::cuda);
  for (Block& block : s.now.blocks) block.host_ns = *block.device_ns * 1.8;
  s.keep();
  EXPECT_EQ(s.verdict().outcome, Outcome::pass);
  for (Block& block : s.now.blocks) block.host_ns = *block.host_ns + 1.3e6;
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
  EXPECT_EQ(s.verdict().findings[0].metric, "host_ns");
  s.now.blocks.resize(2);
  EXPECT_EQ(s.verdict().outcome, Outcome::pass) << "unconfirmed";
  EXPECT_TRUE(wants_more_blocks(s.input));
}

TEST(Latency, FirstAndSecondCallsAreNoPartOfIt) {
  Scene s;
  for (Block& block : s.now.blocks) block.plan_ns = block.first_ns = block.second_ns = 2e9;
  EXPECT_EQ(s.verdict().outcome, Outcome::pass);
}

// The plan cache is looked up and never filled: every call costs what the first one does.
TEST(Latency, APlanMadeInEveryCallIsSuspected) {
  Scene s;
  s.slower(169);
  for (Block& block : s.now.blocks) block.first_ns = *block.device_ns * 1.02;
  EXPECT_THAT(s.verdict().reason, HasSubstr("the steady call is as slow as the first: a plan may be made in every call"));
  for (Block& block : s.now.blocks) block.first_ns = *block.device_ns * 5;
  EXPECT_THAT(s.verdict().reason, testing::Not(HasSubstr("a plan")));
}

// On a GPU the first call also loads code, and hides that it plans as every call does.
TEST(Latency, AHostThatIsBusyWhileTheDeviceIsIdleIsToldOf) {
  Scene s(DeviceType::cuda);
  for (Block& block : s.now.blocks) block.host_ns = *block.device_ns * 0.2;
  s.keep();
  for (Block& block : s.now.blocks) block.host_ns = *block.device_ns * 20, block.first_ns = *block.device_ns * 100;
  EXPECT_THAT(s.verdict().reason, HasSubstr("of it: a plan, a compilation or a wait in every call"));
  for (Block& block : s.now.blocks) block.host_ns = *block.device_ns * 5;
  EXPECT_THAT(s.verdict().reason, testing::Not(HasSubstr("a plan")));
}

TEST(Latency, TheSpanCanBeTheMetric) {
  Scene s;
  for (Block& block : s.now.blocks) block.span_ns = 2e6 + *block.device_ns / 100;
  s.keep();
  s.input.gates.latency->metric = LatencyMetric::span;
  for (Block& block : s.now.blocks) block.span_ns = 6e6 + *block.device_ns / 100;
  EXPECT_EQ(s.verdict().findings[0].metric, "span_ns");
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
}

TEST(ControlRatio, IsTheMiddleOneOfTheRows) {
  std::vector<Measurement> now(3);
  std::vector<Baseline> before(3);
  std::vector<ControlRow> rows;
  for (std::size_t i = 0; i < 3; ++i) {
    now[i].blocks = scene::blocks_of(1e6 * (i == 0 ? 9 : i == 1 ? 2 : 1));
    for (const Block& block : scene::blocks_of(1e6)) before[i].device_ns.push_back(*block.device_ns);
    rows.push_back({&now[i], &before[i]});
  }
  EXPECT_NEAR(control_ratio(rows)->estimate, 2, 0.01);
  before[1].instrument = Instrument::clock;
  rows[0].baseline = nullptr;
  EXPECT_NEAR(control_ratio(rows)->estimate, 1, 0.01);
  rows.pop_back();
  EXPECT_FALSE(control_ratio(rows));
}

// The whole procedure as the parent runs it: two blocks, then one more each time it is asked for, five at most.
struct Rates {
  double regressed = 0, undecided = 0, blocks = 0;
};

Rates simulate(DeviceType device, double noise, double ratio, std::size_t baseline_blocks, int runs = 10000) {
  std::mt19937_64 random(20260101);
  std::normal_distribution<double> normal(0, noise);
  Scene s(device);
  const auto block = [&](double centre) {
    Block value;
    value.instrument = s.baseline.instrument;
    value.device_ns = centre * std::exp(normal(random));
    return value;
  };
  Rates rates;
  for (int run = 0; run < runs; ++run) {
    s.baseline.device_ns.clear();
    for (std::size_t i = 0; i < baseline_blocks; ++i) s.baseline.device_ns.push_back(*block(1e6).device_ns);
    s.now.blocks = {block(1e6 * ratio), block(1e6 * ratio)};
    while (wants_more_blocks(s.input)) s.now.blocks.push_back(block(1e6 * ratio));
    const Outcome outcome = s.verdict().outcome;
    rates.regressed += (outcome == Outcome::regressed) / static_cast<double>(runs);
    rates.undecided += (outcome == Outcome::undecided) / static_cast<double>(runs);
    rates.blocks += static_cast<double>(s.now.blocks.size()) / static_cast<double>(runs);
  }
  return rates;
}

struct Simulated {
  DeviceType device;
  double noise, ratio;
  std::size_t baseline_blocks;
  double regressed_at_least, regressed_at_most, undecided_at_most;
};

class Simulation : public testing::TestWithParam<Simulated> {};

TEST_P(Simulation, KeepsItsRates) {
  const Simulated& p = GetParam();
  const Rates rates = simulate(p.device, p.noise, p.ratio, p.baseline_blocks);
  const std::string shown = fmt::format("{} noise {:.1f}% ratio {:.2f} baseline {}: {:.3f}% regressed, {:.2f}% undecided, {:.2f} blocks", word(p.device), p.noise * 100,
                                        p.ratio, p.baseline_blocks, rates.regressed * 100, rates.undecided * 100, rates.blocks);
  if (std::getenv("ATTN_SHOW_RATES")) std::puts(shown.c_str());
  EXPECT_GE(rates.regressed, p.regressed_at_least) << shown;
  EXPECT_LE(rates.regressed, p.regressed_at_most) << shown;
  EXPECT_LE(rates.undecided, p.undecided_at_most) << shown;
}

constexpr auto kGpu = DeviceType::cuda, kCpu = DeviceType::cpu;

// Nothing changed, or no more than is tolerated. Of 10,000 runs:
INSTANTIATE_TEST_SUITE_P(FalseAlarms, Simulation, testing::Values(
    Simulated{kGpu, 0.003, 1, 5, 0, 0, 0},                  // none fail, none undecided, 2.0 blocks each
    Simulated{kGpu, 0.005, 1, 5, 0, 0, 0},                  // none, none, 2.0
    Simulated{kGpu, 0.009, 1, 5, 0, 0.0003, 0.005},         // none, 0.20 % undecided, 2.2
    Simulated{kGpu, 0.009, 1, 2, 0, 0.002, 0.08},           // 0.08 %, 6.3 %: what a baseline of two blocks costs
    Simulated{kCpu, 0.05, 1, 5, 0, 0, 0},                   // none, none, 2.0
    Simulated{kCpu, 0.10, 1, 5, 0, 0, 0.001},               // none, none, 2.05
    Simulated{kCpu, 0.10, 1, 2, 0, 0, 0.02},                // none, 1.3 %, 2.6
    Simulated{kGpu, 0.003, 1.01, 5, 0, 0, 0.001},           // at `tolerate`: none, none, 2.0
    Simulated{kGpu, 0.009, 1.01, 5, 0, 0.015, 0.1},         // 0.97 %, 7.4 %, 3.1
    Simulated{kCpu, 0.10, 1.25, 5, 0, 0.02, 0.2}));         // 1.4 %, 16 %, 3.4

// A change as large as `detect`, and larger.
INSTANTIATE_TEST_SUITE_P(Power, Simulation, testing::Values(
    Simulated{kGpu, 0.003, 1.03, 5, 0.998, 1, 0.001},       // 99.97 % fail, 3.9 blocks
    Simulated{kGpu, 0.005, 1.03, 5, 0.98, 1, 0.01},         // 98.8 %, 0.5 % undecided
    Simulated{kGpu, 0.009, 1.03, 5, 0.72, 1, 0.23},         // 75.5 %, 19.5 %: 5 % pass
    Simulated{kGpu, 0.009, 1.04, 5, 0.96, 1, 0.04},         // 97.7 %, 2.2 %
    Simulated{kGpu, 0.009, 1.05, 2, 0.975, 1, 0.025},       // 98.5 %, 1.5 %
    Simulated{kCpu, 0.05, 1.5, 5, 0.97, 1, 0.01},           // 98.1 %, 0.6 %
    Simulated{kCpu, 0.10, 1.5, 5, 0.58, 1, 0.36},           // 62.3 %, 32 %: 5 % pass
    Simulated{kCpu, 0.10, 2, 5, 0.998, 1, 0.002},           // all, 3.0 blocks
    Simulated{kCpu, 0.10, 2, 2, 0.985, 1, 0.015}));         // 99.4 %, 0.6 %

}  // namespace
}  // namespace attn
