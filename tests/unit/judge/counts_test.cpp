#include <gmock/gmock.h>

#include "scene.hpp"

namespace attn {
namespace {

using scene::Scene;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Counts, AnExtraKernelIsNamed) {
  Scene s;
  CallActivities call = scene::in_place();
  call.insert(call.begin(), scene::op("cpu_cast_q"));
  s.calls(call);
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
  EXPECT_EQ(s.verdict().reason, "kernels 6, baseline 5: +1 kernel cpu_cast_q at the start");
  s.input.gates.extra_kernels = 1;
  EXPECT_EQ(s.verdict().outcome, Outcome::pass);
}

TEST(Counts, ARangeIsComparedByItsHighEnd) {
  Scene s;
  s.now.counts.kernels = CountRange{4, 6};
  EXPECT_THAT(s.verdict().reason, HasSubstr("kernels 4..6, baseline 5"));
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
  s.baseline.counts.kernels = CountRange{5, 6};
  EXPECT_EQ(s.verdict().outcome, Outcome::pass);
}

TEST(Counts, ACopyOfMoreBytesFailsAtTheSameCount) {
  Scene s;
  s.calls({scene::op("cpu_gemm_qk"), scene::memory_copy(1024), scene::op("cpu_softmax")});
  s.keep();
  s.calls({scene::op("cpu_gemm_qk"), scene::memory_copy(4096), scene::op("cpu_softmax")});
  EXPECT_EQ(s.verdict().reason, "copy_bytes 4096, baseline 1024: memcpy 1024 B -> 4096 B");
  s.input.gates.extra_copy_bytes = 3072;
  EXPECT_EQ(s.verdict().outcome, Outcome::pass);
}

TEST(Counts, AnAllowedCopyMayCarryBytes) {
  Scene s;
  s.calls(scene::with_copy());
  s.input.gates.extra_copies = 1;
  EXPECT_EQ(s.verdict().outcome, Outcome::pass);
  s.input.gates.extra_copy_bytes = 100;
  EXPECT_THAT(s.verdict().reason, HasSubstr("copy_bytes 33554432, baseline 0 and 100 more allowed"));
}

TEST(Counts, ACopyKernelIsACopyToo) {
  Scene s;
  CallActivities call = scene::in_place();
  call.push_back(scene::op("cpu_copy_o"));
  s.calls(call);
  const Verdict verdict = s.verdict();
  ASSERT_GE(verdict.findings.size(), 2u);
  EXPECT_EQ(verdict.findings[0].metric, "copies");
  EXPECT_EQ(verdict.findings[1].metric, "kernels");
  EXPECT_EQ(verdict.reason, "copies 1, baseline 0: +1 kernel cpu_copy_o after cpu_gemm_pv");
}

TEST(Counts, WhatCannotBeCountedIsNotJudgedAndSaidSo) {
  Scene s;
  s.now.counts = {};
  s.now.kernel_path.reset();
  s.now.kernels.clear();
  Verdict verdict = s.verdict();
  EXPECT_EQ(verdict.outcome, Outcome::pass);
  EXPECT_THAT(verdict.not_judged, Contains("kernels: not counted"));
  EXPECT_THAT(verdict.not_judged, Contains("copies: not counted"));
  EXPECT_THAT(verdict.not_judged, Contains(HasSubstr("kernel_path: not known")));
  s.no_baseline();
  EXPECT_THAT(s.verdict().not_judged, Contains("kernels: not counted"));
}

TEST(Counts, GatesThatTheSuiteSwitchesOffAreListed) {
  Scene s;
  s.calls(scene::with_copy());
  GateRule rule;
  rule.off = {Gate::numerics, Gate::copies, Gate::kernel_path};
  s.input.gates = gates_for({"b", "c", {}, DeviceType::cpu, "cpu.x86_64", {}}, {rule}, {Gate::kernels, Gate::numerics, Gate::copies, Gate::latency});
  const Verdict verdict = s.verdict();
  EXPECT_EQ(verdict.outcome, Outcome::pass);
  EXPECT_THAT(verdict.not_judged, ElementsAre("numerics: switched off", "copies: switched off")) << "the command line left the others out";
}

TEST(Counts, WhatACallMakesTheHostDoMayNotGrow) {
  scene::Scene s(DeviceType::cuda);
  s.now.counts.synchronisations = s.now.counts.allocations = CountRange{0, 0};
  s.now.capturable = true;
  s.keep();
  EXPECT_EQ(s.verdict().outcome, Outcome::pass);
  s.now.counts.synchronisations = CountRange{0, 1};
  EXPECT_EQ(s.verdict().reason, "synchronisations inside a call 0..1, baseline 0");
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
  s.now.counts.synchronisations = CountRange{0, 0};
  s.now.counts.allocations = CountRange{2, 2};
  EXPECT_EQ(s.verdict().reason, "allocations inside a call 2, baseline 0");
  s.now.counts.allocations = CountRange{0, 0};
  s.now.capturable = false;
  EXPECT_EQ(s.verdict().reason, "a call cannot be captured into a CUDA graph any more");
  s.now.capturable.reset();
  EXPECT_EQ(s.verdict().outcome, Outcome::pass);
  s.input.gates.enabled.erase(Gate::kernels);
  s.now.counts.synchronisations = CountRange{9, 9};
  EXPECT_EQ(s.verdict().outcome, Outcome::pass);
}

TEST(Counts, ExpectationsSpeakOfTheHostToo) {
  scene::Scene s(DeviceType::cuda);
  s.now.counts.launches = CountRange{6, 6};
  s.now.counts.synchronisations = CountRange{1, 1};
  s.now.capturable = false;
  Expectation expectation;
  expectation.launches = CountBound{6, 6};
  expectation.synchronisations = CountBound{0, 0};
  expectation.capturable = true;
  s.input.expectations = {expectation};
  const Verdict verdict = s.verdict();
  ASSERT_EQ(verdict.findings.size(), 2u);
  EXPECT_EQ(verdict.findings[0].message, "synchronisations 1, expected 0");
  EXPECT_EQ(verdict.findings[1].message, "it cannot be captured into a graph");
  s.now.counts.launches = CountRange{6, 7};
  s.now.counts.synchronisations = CountRange{0, 0};
  s.now.counts.allocations = CountRange{2, 2};
  s.input.expectations[0].allocations = CountBound{0, 1};
  s.input.expectations[0].capturable = false;
  EXPECT_EQ(s.verdict().findings.size(), 2u);
  EXPECT_EQ(s.verdict().reason, "launches 6..7, expected 6");
  EXPECT_EQ(s.verdict().findings[1].message, "allocations 2, expected 0..1");
  s.now.capturable = true;
  EXPECT_EQ(s.verdict().findings.back().message, "it can be captured into a graph, expected not to be");
  // Where the host's calls are not recorded, on a CPU, nothing of this is known.
  s.now.counts.launches.reset();
  s.now.counts.synchronisations.reset();
  s.now.counts.allocations.reset();
  s.now.capturable.reset();
  EXPECT_THAT(s.verdict().findings, testing::IsEmpty());
  EXPECT_THAT(s.verdict().not_judged, testing::IsSupersetOf({"expected launches: not counted", "expected synchronisations: not counted", "expected allocations: not counted", "expected capturable: not known"}));
}

TEST(Counts, ARenamedKernelIsANoteAndNoFailure) {
  Scene s;
  s.calls({scene::op("nvjet_a"), scene::op("softmax_warp_forward"), scene::op("nvjet_b")});
  s.keep();
  s.calls({scene::op("nvjet_a"), scene::op("cunn_SoftMaxForward"), scene::op("nvjet_b")});
  EXPECT_EQ(s.verdict().outcome, Outcome::pass);
  EXPECT_EQ(s.verdict().reason, "same counts, other operations: softmax_warp_forward -> cunn_SoftMaxForward");
}

TEST(KernelPathGate, AnotherPathFailsEvenWhenItIsFasterAndSmaller) {
  Scene s;
  s.calls(scene::math());
  s.keep();
  s.calls(scene::in_place());
  s.slower(0.5);
  const Verdict verdict = s.verdict();
  EXPECT_EQ(verdict.outcome, Outcome::regressed);
  EXPECT_THAT(verdict.reason, HasSubstr("kernel path changed: math -> naive: "));
  for (const Finding& finding : verdict.findings) EXPECT_NE(finding.metric, "kernels") << "fewer kernels of another path are no improvement";
}

TEST(KernelPathGate, FallingBackToMathFails) {
  Scene s;
  s.calls(scene::fused());
  s.keep();
  s.calls(scene::math());
  EXPECT_THAT(s.verdict().reason, HasSubstr("kernel path changed: flash2 -> math: +1 kernel "));
}

// The work went to the host and only copies were left on the device.
TEST(KernelPathGate, NoneFailsByItself) {
  Scene s;
  s.no_baseline();
  s.calls({scene::memory_copy(), scene::memory_copy()});
  EXPECT_EQ(s.verdict().outcome, Outcome::regressed);
  EXPECT_EQ(s.verdict().reason, "kernel_path none: no attention, gemm or softmax ran on the device");
  s.now.control = true;
  EXPECT_EQ(s.verdict().outcome, Outcome::no_baseline);
}

TEST(KernelPathGate, ExpectationsNameTheWords) {
  Scene s;
  s.no_baseline();
  Expectation expectation;
  for (int path = 0; path <= static_cast<int>(KernelPath::flex); ++path) expectation.kernel_path.push_back(static_cast<KernelPath>(path));
  expectation.place = {"s.yaml", 12, 3};
  s.input.expectations = {expectation};
  EXPECT_EQ(s.verdict().reason, "kernel_path naive, expected fused");
  EXPECT_EQ(s.verdict().findings[0].line, 12);
  s.input.expectations[0].kernel_path = {KernelPath::math, KernelPath::none};
  EXPECT_EQ(s.verdict().reason, "kernel_path naive, expected math or none");
  s.input.expectations[0].kernel_path = {KernelPath::naive};
  EXPECT_EQ(s.verdict().outcome, Outcome::no_baseline);
}

TEST(Expectations, CountsMayBeRanges) {
  Scene s;
  s.no_baseline();
  Expectation expectation;
  expectation.kernels = CountBound{1, 4};
  expectation.memsets = CountBound{0, 2};
  s.input.expectations = {expectation};
  EXPECT_EQ(s.verdict().reason, "kernels 5, expected 1..4");
  s.input.expectations[0].kernels = CountBound{5, 6};
  EXPECT_EQ(s.verdict().outcome, Outcome::no_baseline);
  s.now.counts.memsets = CountRange{1, 3};
  EXPECT_EQ(s.verdict().reason, "memsets 1..3, expected 0..2");
  s.now.counts.memsets.reset();
  EXPECT_THAT(s.verdict().not_judged, Contains("expected memsets: not counted"));
}

// attention-backends of PyTorch: the math path widens bf16 to fp32, and its products leave the tensor cores.
TEST(Expectations, AnUnwantedClassIsNamedWithItsKernels) {
  Scene s(DeviceType::cuda);
  s.no_baseline();
  s.calls({scene::op("nvjet_sm90_tst_64x8_TNT"), scene::op("softmax_warp_forward"), scene::op("ampere_sgemm_128x64_nn"), scene::op("ampere_sgemm_128x64_nn")});
  Expectation& expectation = s.input.expectations.emplace_back();
  expectation.place.line = 12;
  expectation.no = {{ActivityClass::gemm, GemmKind::fp32_simt}};
  const Verdict verdict = s.verdict();
  EXPECT_EQ(verdict.outcome, Outcome::regressed);
  EXPECT_EQ(verdict.reason, "2 x ampere_sgemm_128x64_nn is gemm.fp32_simt, expected no gemm.fp32_simt");
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings[0].gate, Gate::kernels);
  EXPECT_EQ(verdict.findings[0].metric, "class");
  EXPECT_EQ(verdict.findings[0].line, 12);
  s.input.expectations[0].no = {{ActivityClass::gemm, GemmKind::tf32}, {ActivityClass::copy}};
  EXPECT_EQ(s.verdict().outcome, Outcome::no_baseline);
  s.input.expectations[0].no = {{ActivityClass::gemm}};
  EXPECT_EQ(s.verdict().reason, "1 x nvjet_sm90_tst_64x8_TNT is gemm.bf16, 2 x ampere_sgemm_128x64_nn is gemm.fp32_simt, expected no gemm");
  s.input.gates.enabled.erase(Gate::kernels);
  EXPECT_EQ(s.verdict().outcome, Outcome::no_baseline);
}

TEST(Expectations, AClassTakesInMemcpysAndMemsets) {
  Scene s;
  s.no_baseline();
  s.calls({scene::op("cpu_gemm_qk"), scene::memory_copy(), scene::op("cpu_softmax"), scene::op("cpu_copy_o")});
  s.input.expectations.emplace_back().no = {{ActivityClass::copy}, {ActivityClass::fill}};
  const Verdict verdict = s.verdict();
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.reason, "1 x cpu_memcpy_scores is copy, 1 x cpu_copy_o is copy, expected no copy");
}

TEST(Expectations, AGemmOfUnknownKindIsNoProof) {
  Scene s;
  s.no_baseline();
  s.input.expectations.emplace_back().no = {{ActivityClass::gemm, GemmKind::fp32_simt}};
  Verdict verdict = s.verdict();
  EXPECT_EQ(verdict.outcome, Outcome::no_baseline);
  EXPECT_THAT(verdict.not_judged, testing::IsSupersetOf({"expected no gemm.fp32_simt: what cpu_gemm_qk computes with is not known", "expected no gemm.fp32_simt: what cpu_gemm_pv computes with is not known"}));
  s.now.counts = {};
  s.now.kernels.clear();
  EXPECT_THAT(s.verdict().not_judged, Contains("expected no gemm.fp32_simt: not counted"));
}

TEST(Cause, NamesWhatChangedSinceTheBaseline) {
  Scene s;
  s.baseline.switches["OMP_NUM_THREADS"] = "2";
  s.baseline.libraries["torch"] = {"2.10.0", ""};
  s.environment.libraries["torch"] = {"2.11.0", ""};
  s.calls(scene::with_copy());
  EXPECT_EQ(s.verdict().findings[0].cause, "OMP_NUM_THREADS 2 -> unset, torch 2.10.0 -> 2.11.0");
}

TEST(Cause, IsAPathOnlyWhenNothingElseIsKnown) {
  Scene s;
  EXPECT_EQ(cause_of_change(s.baseline, s.environment, true), "");
  s.environment.libraries["openblas"].path = "/opt/libopenblas.so";
  EXPECT_EQ(cause_of_change(s.baseline, s.environment, true), "openblas 0.3.21 from /usr/lib/libopenblas.so -> /opt/libopenblas.so");
  s.environment.libraries["torch"] = {"2.11.0", ""};
  EXPECT_EQ(cause_of_change(s.baseline, s.environment, true), "torch not loaded -> 2.11.0");
}

TEST(Cause, IsAnInterpreterAsItWasNamed) {
  Baseline baseline;
  Environment environment;
  baseline.libraries = {{kInterpreter, {"", "/lo/py"}}, {"python", {"3.11.2", "/usr/bin/python3"}}};
  environment.libraries = {{kInterpreter, {"", "/hi/py"}}, {"python", {"3.11.2", "/usr/bin/python3"}}};
  EXPECT_EQ(cause_of_change(baseline, environment, true), "interpreter /lo/py -> /hi/py");
  environment.libraries["python"].path = "/hi/py";
  EXPECT_EQ(cause_of_change(baseline, environment, true), "interpreter /lo/py -> /hi/py");
  baseline.libraries.erase(kInterpreter);
  EXPECT_EQ(cause_of_change(baseline, environment, true), "python 3.11.2 from /usr/bin/python3 -> /hi/py");
}

TEST(Cause, IsNotWhatABackendThatNeverCameUpDidNotLoad) {
  Baseline baseline;
  Environment environment;
  baseline.switches["FLAG"] = "1";
  baseline.libraries = {{"numpy", {"1.24.2", ""}}, {"openblas", {"0.3.21 ", ""}}};
  environment.libraries["openblas"] = {"0.3.22  ", ""};
  EXPECT_EQ(cause_of_change(baseline, environment, false), "FLAG 1 -> unset, openblas 0.3.21 -> 0.3.22");
  EXPECT_EQ(cause_of_change(baseline, environment, true), "FLAG 1 -> unset, numpy 1.24.2 -> not loaded, openblas 0.3.21 -> 0.3.22");
}

}  // namespace
}  // namespace attn
