#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>

#include "suite_text.hpp"

namespace attn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Suite with(const std::string& rest, const std::string& backends = "[naive, flash]") { return parse_suite(suite_text(kBasic, rest, backends), "s.yaml"); }
std::string message(const std::string& rest) { return message_of(suite_text(kBasic, rest)); }  // `rest` begins at line 11

TEST(SuiteFile, IsReadFromAPathThatItsPathsAreRelativeTo) {
  const std::string path = testing::TempDir() + "attn_suite_file.yaml";
  std::ofstream(path) << suite_text(kBasic, "", "[{name: mine, plugin: sub/../libmine.so}]");
  const Suite suite = read_suite(path);
  std::remove(path.c_str());
  EXPECT_EQ(suite.path, path);
  EXPECT_EQ(suite.name, "s");
  EXPECT_EQ(suite.backends.at(0).plugin, testing::TempDir() + "libmine.so");
}

TEST(SuiteFile, NeedsItsKeysAndVersion) {
  EXPECT_THAT(message_of("suite: s\n"), HasSubstr("s.yaml:1:1: a suite needs the key version"));
  EXPECT_EQ(message_of("version: 2\nsuite: s\n"), "s.yaml:1:10: version: found \"2\"; this program reads version 1");
  EXPECT_EQ(message_of("version: \"1\"\nsuite: s\n"), "s.yaml:1:10: version: found \"1\"; this program reads version 1");
  EXPECT_EQ(message_of("version: 1\ncases: []\n"), "s.yaml:1:1: a suite needs the key suite");
  EXPECT_EQ(message_of("version: 1\nsuite: s\ncases: []\nbackends: [a]\n"), "s.yaml:3:8: cases: found an empty list; a suite needs a case");
  EXPECT_EQ(message_of(suite_text(kBasic, "", "[]")), "s.yaml:10:11: backends: found an empty list; a suite needs a backend");
  EXPECT_EQ(message_of("version: 1\nsuite: s/t\ncases: []\nbackends: [a]\n"), "s.yaml:2:8: suite: found \"s/t\"; a name is made of letters, digits and . _ + -");
  EXPECT_THAT(message_of("version: 1\nsuit: s\n"), HasSubstr("did you mean suite?"));
  EXPECT_THAT(message_of("- 1\n"), HasSubstr("s.yaml:1:1: found a list; a suite is a map with the keys: version, suite, defaults"));
  EXPECT_THAT(message_of("version: 1\nsuite: s\ndefaults: {name: x}\ncases: []\nbackends: [a]\n"), HasSubstr("s.yaml:3:12: unknown key \"name\" in defaults"));
}

TEST(Backends, AreNamesPluginsAndPythonClasses) {
  const Suite suite = parse_suite(
      suite_text(kBasic, "",
                 "\n  - naive\n  - {name: a, plugin: ./liba.so, options: {tile: 64, fast: on}, build: make a}\n  - {name: b, plugin: /x/lib.so:family}\n"
                 "  - {name: c, python: my_backend.py:MyAttention, interpreter: /venv/bin/python}\n  - {name: d, python: ../d.py:D, interpreter: python3.11}"),
      "dir/s.yaml");
  ASSERT_EQ(suite.backends.size(), 5u);
  EXPECT_EQ(suite.backends[0].name, "naive");
  EXPECT_EQ(suite.backends[0].place, (Place{"dir/s.yaml", 11, 5}));
  EXPECT_EQ(suite.backends[1].plugin, "dir/liba.so");
  EXPECT_EQ(suite.backends[1].options, (std::map<std::string, std::string>{{"tile", "64"}, {"fast", "on"}}));
  EXPECT_EQ(suite.backends[1].build, "make a");
  EXPECT_EQ(suite.backends[2].plugin, "/x/lib.so");
  EXPECT_EQ(suite.backends[2].plugin_name, "family");
  EXPECT_EQ(suite.backends[3].python, "dir/my_backend.py:MyAttention");
  EXPECT_EQ(suite.backends[3].interpreter, "/venv/bin/python");
  EXPECT_EQ(suite.backends[4].python, "d.py:D");
  EXPECT_EQ(suite.backends[4].interpreter, "python3.11");
}

TEST(Backends, RefuseWhatDoesNotFitTogether) {
  const auto backend = [](const std::string& entry) { return message_of(suite_text(kBasic, "", "[naive, " + entry + "]")); };
  EXPECT_EQ(backend("naive"), "s.yaml:10:19: the backend naive stands here and at s.yaml:10:12");
  EXPECT_EQ(backend("{name: a, plugin: a.so, python: b.py:B}"), "s.yaml:10:51: python: plugin is set too; a backend is either");
  EXPECT_EQ(backend("{name: a, interpreter: python3}"), "s.yaml:10:42: interpreter: is of Python backends; it needs python: file.py:Class");
  EXPECT_EQ(backend("{name: a, build: make}"), "s.yaml:10:36: build: is of backends that you build; it needs plugin or python");
  EXPECT_EQ(backend("{plugin: a.so}"), "s.yaml:10:19: a backend (a built-in name or a map) needs the key name");
  EXPECT_THAT(backend("{name: a, plugn: a.so}"), HasSubstr("did you mean plugin?"));
  for (const char* bad : {"a.py", "a.py:", ":A", ".py:A", "a.py:1A", "a.py:A-B", "a.txt:A"})
    EXPECT_THAT(backend(std::string("{name: a, python: \"") + bad + "\"}"), HasSubstr("wanted is a file and a class, such as my_backend.py:MyAttention")) << bad;
  for (const char* bad : {"plugin: ~/a.so", "python: ~/a.py:A", "python: a.py:A, interpreter: ~/bin/python"})
    EXPECT_THAT(backend(std::string("{name: a, ") + bad + "}"), HasSubstr("nothing makes a folder of ~ here; write the whole path")) << bad;
  EXPECT_THAT(backend("{name: a, options: [1]}"), HasSubstr("options: found a list; wanted is a map of words to values"));
}

TEST(Gates, AreOneMapOrAListThatSelects) {
  const Suite one = with("gates: {kernels: {extra: 1}, copies: {extra: 2, extra_bytes: 1MiB}, latency: {metric: span, tolerate: 1%, detect: 3.5%, floor: 2us}, memory: {tolerate: 10%, floor: 64KiB}, numerics: off}\n");
  ASSERT_EQ(one.gates.size(), 1u);
  const GateRule& rule = one.gates[0];
  EXPECT_EQ(rule.extra_kernels, 1);
  EXPECT_EQ(rule.extra_copies, 2);
  EXPECT_EQ(rule.extra_copy_bytes, 1 << 20);
  EXPECT_EQ(rule.latency_metric, LatencyMetric::span);
  EXPECT_DOUBLE_EQ(*rule.latency_tolerate, 0.01);
  EXPECT_DOUBLE_EQ(*rule.latency_detect, 0.035);
  EXPECT_EQ(rule.latency_floor_ns, 2000);
  EXPECT_DOUBLE_EQ(*rule.memory_tolerate, 0.1);
  EXPECT_EQ(rule.memory_floor_bytes, 64 << 10);
  EXPECT_THAT(rule.off, ElementsAre(Gate::numerics));

  const Suite many = with("gates:\n  - {kernels: {extra: 0}}\n  - {backend: flash, device: cuda, kernels: off}\n");
  ASSERT_EQ(many.gates.size(), 2u);
  EXPECT_THAT(many.gates[1].where.backends, ElementsAre("flash"));
  EXPECT_EQ(many.gates[1].where.device, DeviceType::cuda);
  EXPECT_EQ(many.gates[1].extra_kernels, std::nullopt);
  EXPECT_THAT(many.gates[1].off, ElementsAre(Gate::kernels));
}

TEST(Gates, RefuseBareNumbersAndNonsense) {
  EXPECT_EQ(message("gates: {latency: {tolerate: 3}}\n"), "s.yaml:11:29: tolerate: found \"3\" without a unit; write it with one, such as 3%; allowed are: %");
  EXPECT_EQ(message("gates: {latency: {floor: 2}}\n"), "s.yaml:11:26: floor: found \"2\" without a unit; write it with one, such as 2us; allowed are: ns, us, ms, s, m, h");
  EXPECT_EQ(message("gates: {memory: {floor: 64MB}}\n"), "s.yaml:11:25: floor: found \"64MB\" with the unit \"MB\"; allowed are: B, KiB, MiB, GiB, TiB; did you mean MiB?");
  EXPECT_EQ(message("gates: {latency: {tolerate: 3%, detect: 1%}}\n"), "s.yaml:11:41: detect: found \"1%\"; it must be more than tolerate, \"3%\"");
  EXPECT_EQ(message("gates: {latency: {tolerate: -3%}}\n"), "s.yaml:11:29: tolerate: found \"-3%\"; wanted is a number with a unit, such as 3%");
  EXPECT_EQ(message("gates: {kernels: {extra: 1%}}\n"), "s.yaml:11:26: extra: found \"1%\"; wanted is a whole number from 0 to 1000000");
  EXPECT_EQ(message("gates: {kernels: 0}\n"), "s.yaml:11:18: kernels: found \"0\"; wanted is off or a map of settings");
  EXPECT_EQ(message("gates: {numerics: {x: 1}}\n"), "s.yaml:11:19: numerics: found a map; it has no settings; allowed is: off");
  EXPECT_THAT(message("gates: {latancy: off}\n"), HasSubstr("did you mean latency?"));
}

TEST(Expectations, KeepTheirPlaceAndBounds) {
  const Suite suite = with("expect:\n  - {backend: [naive, flash], cases: ^x, device: cuda, arch: cuda.sm90, version: {torch: \">=2.11, <3\"}, kernels: 5, copies: 0..2, copy_bytes: 1KiB..4096, memsets: 1.., kernel_path: [fused, math], supported: true, launches: 1, synchronisations: 0, allocations: 0..2, capturable: false}\n");
  ASSERT_EQ(suite.expectations.size(), 1u);
  const Expectation& e = suite.expectations[0];
  EXPECT_EQ(e.place, (Place{"s.yaml", 12, 5}));
  EXPECT_THAT(e.where.backends, ElementsAre("naive", "flash"));
  EXPECT_EQ(e.where.cases, "^x");
  EXPECT_EQ(e.where.device, DeviceType::cuda);
  EXPECT_EQ(e.where.arch, "cuda.sm90");
  EXPECT_EQ(e.where.versions, (std::map<std::string, std::string>{{"torch", ">=2.11, <3"}}));
  EXPECT_EQ(e.kernels->low, 5);
  EXPECT_EQ(e.kernels->high, 5);
  EXPECT_EQ(e.copies->low, 0);
  EXPECT_EQ(e.copies->high, 2);
  EXPECT_EQ(e.copy_bytes->low, 1024);
  EXPECT_EQ(e.copy_bytes->high, 4096);
  EXPECT_EQ(e.memsets->low, 1);
  EXPECT_EQ(e.memsets->high, std::nullopt);
  EXPECT_THAT(e.kernel_path, ElementsAre(KernelPath::flash2, KernelPath::flash3, KernelPath::flash4, KernelPath::cudnn, KernelPath::efficient, KernelPath::flex, KernelPath::math));
  EXPECT_EQ(e.supported, true);
  ASSERT_TRUE(e.launches && e.synchronisations && e.allocations);
  EXPECT_EQ(e.launches->high, 1);
  EXPECT_EQ(e.synchronisations->high, 0);
  EXPECT_EQ(e.allocations->high, 2);
  EXPECT_EQ(e.capturable, false);
}

TEST(Expectations, NameClassesOfOperations) {
  const Suite suite = with("expect: [{backend: naive, no: [gemm.fp32_simt, copy]}, {no: gemm}]\n");
  EXPECT_THAT(suite.expectations[0].no, ElementsAre(OperationClass{ActivityClass::gemm, GemmKind::fp32_simt}, OperationClass{ActivityClass::copy}));
  EXPECT_THAT(suite.expectations[1].no, ElementsAre(OperationClass{ActivityClass::gemm}));
  EXPECT_EQ(message("expect: [{no: [copy, gemm.fp32]}]\n"),
            "s.yaml:11:22: no: found \"gemm.fp32\"; allowed are: attention, gemm, gemm.fp32_simt, gemm.tf32, gemm.fp16, gemm.bf16, gemm.fp8, softmax, mask, elementwise, reduce, copy, cast, fill, rng, "
            "other; did you mean gemm.tf32?");
  EXPECT_THAT(message("expect: [{no: []}]\n"), HasSubstr("s.yaml:11:15: no: "));
}

// The suite of these tests with a list of lengths.
Suite with_lengths(const std::string& seq, const std::string& rest) { return parse_suite(suite_text(kNoSeq + "seq: " + seq + "\n", rest), "s.yaml"); }
std::string message_with_lengths(const std::string& seq, const std::string& rest) { return message_of(suite_text(kNoSeq + "seq: " + seq + "\n", rest)); }

TEST(Expectations, HoldASweepToBeSmoothWhereThereIsOne) {
  const auto smooth = [](const char* lengths) { return message_with_lengths(lengths, "expect: [{smooth: 15%}]\n"); };
  EXPECT_EQ(with_lengths("{sweep: around 64}", "expect: [{smooth: 15%}]\n").expectations[0].smooth, 0.15);
  EXPECT_EQ(with_lengths("[15, 16, 17, 64]", "expect: [{smooth: 15%}]\n").expectations[0].smooth, 0.15);
  for (const char* lengths : {"64", "[63, 64]", "[62, 64, 66]"}) EXPECT_THAT(smooth(lengths), HasSubstr("no selected case has a neighbour on either side")) << lengths;
}

TEST(Expectations, FollowMemoryAlongASize) {
  const Suite suite = with_lengths("[64, 128]", "expect: [{backend: flash, memory_slope: {over: seq, at_most: 1.1}}]\n");
  ASSERT_TRUE(suite.expectations[0].memory_slope);
  EXPECT_EQ(suite.expectations[0].memory_slope->over, SizeAxis::seq);
  EXPECT_EQ(suite.expectations[0].memory_slope->at_most, 1.1);
  EXPECT_EQ(suite.expectations[0].memory_slope->of, PeakOf::call);
  EXPECT_EQ(with_lengths("[64, 128]", "expect: [{memory_slope: {of: prepare, over: seq, at_most: 1.2}}]\n").expectations[0].memory_slope->of, PeakOf::prepare);
  const auto slope = [](const std::string& fields) { return message_with_lengths("[64, 128]", "expect: [{memory_slope: {" + fields + "}}]\n"); };
  EXPECT_EQ(slope("over: seqq, at_most: 1"), "s.yaml:11:32: over: found \"seqq\"; allowed are: batch, heads, seq, seq_q, seq_kv, head_dim; did you mean seq?");
  EXPECT_THAT(slope("over: seq"), HasSubstr("at_most"));
  EXPECT_THAT(slope("of: open, over: seq, at_most: 1"), HasSubstr("of: found \"open\"; allowed are: call, prepare"));
  EXPECT_THAT(slope("over: seq, at_most: 1, per: 2"), HasSubstr("unknown key \"per\" in memory_slope; allowed are: of, over, at_most"));
  EXPECT_EQ(slope("over: seq, at_most: -1"), "s.yaml:11:46: at_most: found \"-1\"; wanted is a power of seq such as 1.1");
  EXPECT_THAT(slope("over: seq, at_most: linear"), HasSubstr("s.yaml:11:46: at_most: "));
}

TEST(Expectations, ASlopeThatNoRowCouldShowIsRefused) {
  const char* kWhy = ": no selected case has a partner that differs in seq alone and has at most half of it; give seq a list, such as seq: [512, 1024]";
  for (const char* seq : {"64", "[64, 65]", "{sweep: around 64}"})
    EXPECT_EQ(message_with_lengths(seq, "expect: [{memory_slope: {over: seq, at_most: 1}}]\n"), std::string("s.yaml:11:25: memory_slope") + kWhy) << seq;
  EXPECT_EQ(message_with_lengths("[64, 128]", "expect: [{cases: q64, memory_slope: {over: seq, at_most: 1}}]\n"), std::string("s.yaml:11:37: memory_slope") + kWhy);
  EXPECT_EQ(message_with_lengths("[64, 128]", "expect: [{cases: q128, memory_slope: {over: seq, at_most: 1}}]\n"), "no error");
  EXPECT_THAT(message_with_lengths("[64, 128]", "expect: [{memory_slope: {over: batch, at_most: 1}}]\n"), HasSubstr("give batch a list"));
}

TEST(Expectations, RaceAnotherBackend) {
  const Suite suite = with("expect: [{backend: flash, time_ratio: {to: naive, at_most: 0.5x}}]\n");
  ASSERT_TRUE(suite.expectations[0].time_ratio);
  EXPECT_EQ(suite.expectations[0].time_ratio->to, "naive");
  EXPECT_EQ(suite.expectations[0].time_ratio->at_most, 0.5);
  const auto ratio = [](const std::string& rest) { return message("expect: [{" + rest + "}]\n"); };
  EXPECT_EQ(ratio("time_ratio: {to: naiv, at_most: 1x}"), "s.yaml:11:28: to: found \"naiv\"; allowed are: naive, flash; did you mean naive?");
  EXPECT_EQ(ratio("time_ratio: {to: naive, at_most: 1.05}"), "s.yaml:11:44: at_most: found \"1.05\" without a unit; write it with one, such as 1.05x; allowed are: x");
  EXPECT_EQ(ratio("time_ratio: {to: naive, at_most: 0x}"), "s.yaml:11:44: at_most: found \"0x\"; it must be more than 0x");
  EXPECT_EQ(ratio("backend: naive, time_ratio: {to: naive, at_most: 1x}"), "s.yaml:11:44: to: compares \"naive\" with itself; name another backend, here or in `backend`");
  EXPECT_EQ(ratio("backend: [naive, flash], time_ratio: {to: naive, at_most: 1x}"), "no error");
  EXPECT_EQ(ratio("time_ratio: {to: naive, at_most: 1x}"), "no error");
}

TEST(Expectations, RefuseWhatCouldNeverHold) {
  const auto expect = [](const std::string& entry) { return message("expect: [{" + entry + "}]\n"); };
  EXPECT_EQ(expect("backend: flsh, kernels: 1"), "s.yaml:11:20: backend: found \"flsh\"; allowed are: naive, flash; did you mean flash?");
  EXPECT_EQ(expect("backend: [naive, cudnn], kernels: 1"), "s.yaml:11:28: backend: found \"cudnn\"; allowed are: naive, flash");
  EXPECT_THAT(expect("cases: \"(\", kernels: 1"), HasSubstr("s.yaml:11:18: cases: \"(\" is no regular expression: "));
  EXPECT_EQ(expect("cases: decode, kernels: 1"), "s.yaml:11:18: cases: \"decode\" is found in none of the 1 cases nor in their tags; the first is x:fp32/b1/h4/q8.k8/d16");
  EXPECT_EQ(expect("backend: naive"), "s.yaml:11:10: expects nothing; add one of: kernels, copies, copy_bytes, memsets, launches, synchronisations, allocations, capturable, kernel_path, no, supported, smooth, memory_slope, time_ratio");
  EXPECT_EQ(expect("kernels: 5us"), "s.yaml:11:20: kernels: found \"5us\"; wanted is a count such as 5, a range such as 0..2, or 1.. for at least 1");
  for (const char* bad : {"-1", "..2", "1...2", "1..x", "01", "1.5", "\"1\"", "[1]", "99999999999999999999"})
    EXPECT_THAT(expect(std::string("kernels: ") + bad), HasSubstr("wanted is a count such as 5")) << bad;
  EXPECT_EQ(expect("kernels: 3..2"), "s.yaml:11:20: kernels: found \"3..2\": the range ends before it begins");
  EXPECT_EQ(expect("kernel_path: flash"), "s.yaml:11:24: kernel_path: found \"flash\"; allowed are: fused, flash2, flash3, flash4, cudnn, efficient, flex, triton, math, naive, none, unknown; did you mean flash2?");
  EXPECT_EQ(expect("device: gpu, kernels: 1"), "s.yaml:11:19: device: found \"gpu\"; allowed are: cpu, cuda; did you mean cpu?");
  for (const char* bad : {"2.11", ">=", ">= x", "~2", ">=2,", ""})
    EXPECT_THAT(expect(std::string("kernels: 1, version: {torch: \"") + bad + "\"}"), testing::AnyOf(HasSubstr("wanted is a condition such as"), HasSubstr("found empty text"))) << bad;
  EXPECT_THAT(expect("kernels: 1, version: \">=2\""), HasSubstr("wanted is a map of libraries to conditions"));
}

TEST(Waivers, NeedAReasonAndADay) {
  const Suite suite = with("waive:\n  - {backend: flash, cases: x, metric: latency, reason: \"driver 580, see #12\", expires: 2028-02-29}\n");
  ASSERT_EQ(suite.waivers.size(), 1u);
  EXPECT_EQ(suite.waivers[0].metric, Gate::latency);
  EXPECT_EQ(suite.waivers[0].reason, "driver 580, see #12");
  EXPECT_EQ(suite.waivers[0].expires, "2028-02-29");
  EXPECT_EQ(suite.waivers[0].place, (Place{"s.yaml", 12, 5}));
  EXPECT_EQ(message("waive: [{expires: 2027-01-01}]\n"), "s.yaml:11:9: a waiver needs the key reason");
  EXPECT_EQ(message("waive: [{reason: r}]\n"), "s.yaml:11:9: a waiver needs the key expires");
  for (const char* bad : {"2027-02-29", "2027-13-01", "2027-1-1", "01.02.2027", "-027-01-01", "2027-01-0x", "never"})
    EXPECT_EQ(message(std::string("waive: [{reason: r, expires: ") + bad + "}]\n"), fmt::format("s.yaml:11:30: expires: found \"{}\"; wanted is the last day it holds, such as 2026-12-31", bad));
}

TEST(Messages, ShowControlCharactersEscaped) {
  EXPECT_THAT(message("expect: [{cases: \"(\\x1b[31m\", kernels: 1}]\n"), HasSubstr("cases: \"(\\x1b[31m\" is no regular expression: "));
  EXPECT_THAT(message_of(suite_text(kBasic, "", "[{name: a, options: {\"a\\nb\": [1]}}]")), HasSubstr("s.yaml:10:40: \"a\\nb\": found a list; wanted is text"));
}

TEST(Patterns, NeitherHangNorOverflowTheStack) {
  const std::string name(200, 'a');
  const std::string text = "version: 1\nsuite: s\ncases:\n  - {name: " + name + ", batch: 1, heads: 1, seq: 1, head_dim: 1, dtype: fp32}\nbackends: [a]\n";
  EXPECT_EQ(message_of(text + "expect: [{cases: \"^(a+)+:\", kernels: 1}]\n"), "no error");
  EXPECT_THAT(message_of(text + "expect: [{cases: \"^(a+)+$\", kernels: 1}]\n"), HasSubstr("is found in none"));
  EXPECT_THAT(message_of(text + "expect: [{cases: \"((a{99}){99}){99}\", kernels: 1}]\n"), HasSubstr("is no regular expression"));
  EXPECT_THAT(message_of(text + "expect: [{cases: \"" + std::string(1001, 'a') + "\", kernels: 1}]\n"), HasSubstr("at most 1000"));
}

}  // namespace
}  // namespace attn
