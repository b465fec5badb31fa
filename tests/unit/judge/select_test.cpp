#include "judge/select.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "scene.hpp"

namespace attn {
namespace {

using testing::HasSubstr;

RowFacts row() {
  return {"flash", "llama3-8b/prefill:bf16/b1/h32.8/q4096.k4096/d128/causal", {"nightly"}, DeviceType::cuda, "cuda.sm90", {{"torch", {"2.11.0+cu130", ""}}, {"cudnn", {"9.19.0", ""}}}};
}

TEST(Version, IsComparedByItsParts) {
  EXPECT_TRUE(version_satisfies("2.11.0", ">=2.11"));
  EXPECT_TRUE(version_satisfies("2.11", "==2.11.0"));
  EXPECT_TRUE(version_satisfies("2.11.0+cu130", "==2.11"));
  EXPECT_TRUE(version_satisfies("2.9.1", "<2.11")) << "not as text";
  EXPECT_FALSE(version_satisfies("9.20.0", "<9.20"));
  EXPECT_TRUE(version_satisfies("9.19.99", "<9.20"));
  EXPECT_TRUE(version_satisfies("2.11.1", ">2.11"));
  EXPECT_FALSE(version_satisfies("2.11.1", "==2.11"));
  EXPECT_TRUE(version_satisfies("2.11.1", "==2.11.*"));
  EXPECT_FALSE(version_satisfies("2.12", "==2.11.*"));
  EXPECT_TRUE(version_satisfies("2.12", "!=2.11.*"));
  EXPECT_TRUE(version_satisfies("2.12", "!=2.11"));
  EXPECT_TRUE(version_satisfies("2.11", "<=2.11"));
}

TEST(Version, PreReleasesComeBeforeTheirRelease) {
  EXPECT_FALSE(version_satisfies("2.12.0a0+git1234", ">=2.12"));
  EXPECT_TRUE(version_satisfies("2.12.0.dev20260101", "<2.12"));
  EXPECT_TRUE(version_satisfies("2.12.0.post1", ">2.12"));
  EXPECT_TRUE(version_satisfies("2.12.0a0", ">=2.11"));
}

TEST(Version, ConditionsAreJoinedByCommas) {
  EXPECT_TRUE(version_satisfies("2.11", ">=2.10, <2.12"));
  EXPECT_FALSE(version_satisfies("2.12", ">=2.10, <2.12"));
}

TEST(Version, WhatIsNoConditionIsRefused) {
  for (const char* condition : {"2.11", "", ">=", ">=x", "=>2.11", "~=2.11", ">=2.11,", ">=2.*"}) EXPECT_THROW(version_satisfies("2.11", condition), Error) << condition;
}

TEST(Selector, EmptySelectsEverything) { EXPECT_TRUE(selects({}, row())); }

TEST(Selector, EveryFieldMustFit) {
  const auto fits = [](auto&& set) {
    Selector selector;
    set(selector);
    return selects(selector, row());
  };
  EXPECT_TRUE(fits([](Selector& s) { s.backends = {"naive", "flash"}; }));
  EXPECT_FALSE(fits([](Selector& s) { s.backends = {"naive"}; }));
  EXPECT_TRUE(fits([](Selector& s) { s.cases = "prefill:.*causal$"; }));
  EXPECT_TRUE(fits([](Selector& s) { s.cases = "^nightly$"; })) << "a tag";
  EXPECT_FALSE(fits([](Selector& s) { s.cases = "decode"; }));
  EXPECT_TRUE(fits([](Selector& s) { s.device = DeviceType::cuda; }));
  EXPECT_FALSE(fits([](Selector& s) { s.device = DeviceType::cpu; }));
  EXPECT_TRUE(fits([](Selector& s) { s.arch = "sm90"; }));
  EXPECT_TRUE(fits([](Selector& s) { s.arch = "cuda.sm90"; }));
  EXPECT_FALSE(fits([](Selector& s) { s.arch = "sm9"; }));
  EXPECT_TRUE(fits([](Selector& s) { s.versions = {{"torch", ">=2.11"}, {"cudnn", "<9.20"}}; }));
  EXPECT_FALSE(fits([](Selector& s) { s.versions = {{"torch", ">=2.11"}, {"cudnn", ">=9.20"}}; }));
  EXPECT_FALSE(fits([](Selector& s) { s.versions = {{"triton", ">=1"}}; })) << "not loaded";
  EXPECT_FALSE(fits([](Selector& s) { s.versions = {{"triton", "<1"}}; })) << "not loaded";
  EXPECT_FALSE(fits([](Selector& s) { s.backends = {"flash"}; s.cases = "decode"; }));
  EXPECT_THROW(fits([](Selector& s) { s.cases = "a("; }), Error);
}

TEST(GatesFor, DefaultsDependOnTheDevice) {
  const Gates gpu = gates_for(row(), {}, Gates{}.enabled);
  EXPECT_DOUBLE_EQ(gpu.latency->tolerate, 0.01);
  EXPECT_DOUBLE_EQ(gpu.latency->detect, 0.03);
  RowFacts cpu = row();
  cpu.device = DeviceType::cpu;
  EXPECT_DOUBLE_EQ(gates_for(cpu, {}, Gates{}.enabled).latency->tolerate, 0.25);
  EXPECT_DOUBLE_EQ(gates_for(cpu, {}, Gates{}.enabled).latency->detect, 0.5);
}

TEST(GatesFor, LaterRulesOverrideEarlierOnesWhereTheySelect) {
  GateRule all, flash, other;
  all.extra_kernels = 2;
  all.latency_tolerate = 0.02;
  all.latency_detect = 0.05;
  flash.where.backends = {"flash"};
  flash.extra_kernels = 1;
  flash.latency_floor_ns = 500;
  flash.off = {Gate::memory};
  other.where.backends = {"naive"};
  other.extra_kernels = 9;
  const Gates gates = gates_for(row(), {all, flash, other}, Gates{}.enabled);
  EXPECT_EQ(gates.extra_kernels, 1);
  EXPECT_DOUBLE_EQ(gates.latency->tolerate, 0.02);
  EXPECT_DOUBLE_EQ(gates.latency->detect, 0.05);
  EXPECT_DOUBLE_EQ(gates.latency->floor_ns, 500);
  EXPECT_FALSE(gates.enabled.contains(Gate::memory));
  EXPECT_TRUE(gates.enabled.contains(Gate::latency));
}

TEST(GatesFor, OneLimitAloneNeverContradictsTheOther) {
  GateRule rule;
  rule.latency_tolerate = 0.05;
  EXPECT_DOUBLE_EQ(gates_for(row(), {rule}, {}).latency->detect, 0.15);
  rule = {};
  rule.latency_detect = 0.006;
  EXPECT_DOUBLE_EQ(gates_for(row(), {rule}, {}).latency->tolerate, 0.002);
}

TEST(GatesFor, OnlyGatesAskedForStayOn) { EXPECT_THAT(gates_for(row(), {}, {Gate::kernels}).enabled, testing::ElementsAre(Gate::kernels)); }

TEST(Expectations, ThatSelectNoRowAreFound) {
  Expectation good, misspelled;
  good.where.backends = {"flash"};
  misspelled.where.backends = {"flahs"};
  EXPECT_EQ(expectations_for(row(), {good, misspelled}).size(), 1u);
  const std::vector<Expectation> unmatched = unmatched_expectations({good, misspelled}, {row()});
  ASSERT_EQ(unmatched.size(), 1u);
  EXPECT_EQ(unmatched[0].where.backends[0], "flahs");
}

TEST(RowFacts, ComeFromTheTrialAndTheEnvironment) {
  Trial trial;
  trial.backend.name = "naive";
  trial.id = "x:fp32";
  trial.tags = {"big"};
  Environment environment;
  environment.device = DeviceType::cuda;
  environment.arch = "cuda.sm80";
  environment.libraries["torch"] = {"2.11", ""};
  const RowFacts facts = row_facts(trial, environment);
  EXPECT_EQ(facts.backend, "naive");
  EXPECT_EQ(facts.case_id, "x:fp32");
  EXPECT_EQ(facts.arch, "cuda.sm80");
  EXPECT_EQ(facts.libraries.at("torch").version, "2.11");
}

class Waivers : public testing::Test {
 protected:
  Waivers() {
    s.calls(scene::with_copy());
    waiver.where.backends = {"flash"};
    waiver.reason = "issue 7";
    waiver.expires = "2026-12-31";
  }
  Verdict waive(const char* today) { return apply_waivers(s.verdict(), {waiver}, row(), today); }
  scene::Scene s;
  Waiver waiver;
};

TEST_F(Waivers, HoldToTheEndOfTheirLastDay) {
  const Verdict verdict = waive("2026-12-31");
  EXPECT_EQ(verdict.outcome, Outcome::waived);
  EXPECT_THAT(verdict.reason, HasSubstr("copies 1, baseline 0: +1 memcpy"));
  EXPECT_THAT(verdict.reason, HasSubstr("(waived until 2026-12-31: issue 7)"));
  EXPECT_EQ(waive("2027-01-01").outcome, Outcome::regressed);
  EXPECT_THAT(waive("2027-01-01").reason, HasSubstr("(its waiver expired on 2026-12-31)"));
}

TEST_F(Waivers, CoverTheirMetricAndNoOther) {
  waiver.metric = Gate::copies;
  EXPECT_EQ(waive("2026-06-01").outcome, Outcome::waived);
  waiver.metric = Gate::latency;
  EXPECT_EQ(waive("2026-06-01").outcome, Outcome::regressed);
  waiver.metric = Gate::copies;
  s.slower(3);
  const Verdict verdict = waive("2026-06-01");
  EXPECT_EQ(verdict.outcome, Outcome::regressed) << "the latency still fails";
  EXPECT_EQ(verdict.findings[0].metric, "device_ns");
  EXPECT_EQ(verdict.findings.back().outcome, Outcome::waived);
}

TEST_F(Waivers, OfOtherRowsChangeNothing) {
  waiver.where.backends = {"naive"};
  EXPECT_EQ(waive("2026-06-01").outcome, Outcome::regressed);
  EXPECT_EQ(waive("2026-06-01").reason, s.verdict().reason);
}

TEST_F(Waivers, WithoutAMetricCoverAFailingStatus) {
  s.now.status = Status::crashed;
  EXPECT_EQ(waive("2026-06-01").outcome, Outcome::waived);
  waiver.metric = Gate::kernels;
  EXPECT_EQ(waive("2026-06-01").outcome, Outcome::crashed);
}

TEST_F(Waivers, CoverAWrongResultAsNumerics) {
  s.now.status = Status::wrong;
  waiver.metric = Gate::numerics;
  EXPECT_EQ(waive("2026-06-01").outcome, Outcome::waived);
}

TEST_F(Waivers, WhatPassesStaysAsItIs) {
  s.calls(scene::in_place());
  EXPECT_EQ(waive("2026-06-01").outcome, Outcome::pass);
  s.slower(0.5);
  EXPECT_EQ(waive("2026-06-01").outcome, Outcome::improved);
  s.now.status = Status::cannot_measure;
  EXPECT_EQ(waive("2026-06-01").outcome, Outcome::cannot_measure);
}

}  // namespace
}  // namespace attn
