#include <gmock/gmock.h>

#include "suite_text.hpp"

namespace attn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> ids(const std::string& text) {
  std::vector<std::string> all;
  for (const SuiteCase& each : parse_suite(text, "s.yaml").cases) all.push_back(case_id(each.value));
  return all;
}

Case only_case(const std::string& case_lines) {
  const Suite suite = parse_suite(suite_text(case_lines), "s.yaml");
  EXPECT_EQ(suite.cases.size(), 1u);
  return suite.cases.at(0).value;
}

TEST(Cases, FillInWhatFollows) {
  const Case c = only_case(kBasic);
  EXPECT_EQ(c.heads_kv, 4);
  EXPECT_EQ(c.head_dim_v, 16);
  EXPECT_EQ(c.dtype_kv, DType::fp32);
  EXPECT_EQ(c.seq_q, 8);
  EXPECT_EQ(c.seq_kv, 8);
}

TEST(Cases, ReadEveryField) {
  const Suite suite = parse_suite(suite_text("batch: 2\nheads: 8\nheads_kv: 2\nseq_q: 64\nseq_kv: 128\nhead_dim: 32\nhead_dim_v: 16\ndtype: fp16\ndtype_kv: fp8_e4m3\n"
                                             "layout: bshd\nstrides: {q: transposed, k: expanded, v: sliced}\nmask: {tensor: random, shape: [1, H, 1, Skv], dtype: dtype, fill: min}\n"
                                             "alignment: bottom_right\nwindow: {left: 127, right: 0}\nsoftcap: 30.5\nscale: -0.25\nalibi: {slopes: [0.5, 0.25, 1, 1, 1, 1, 1, 1e-2]}\n"
                                             "lengths: {q: [64, 0], kv: [128, 5]}\ndead_rows: nan\npass: forward_backward\ngrad_layout: transposed\n"
                                             "deterministic: true\ndropout: 0.1\nthen: merge_heads\ninputs: poison_padding\ncache: warm\ntags: [big, llama]\n"),
                                  "s.yaml");
  Case c;
  c.name = "x";
  c.batch = 2;
  c.heads = 8;
  c.heads_kv = 2;
  c.seq_q = 64;
  c.seq_kv = 128;
  c.head_dim = 32;
  c.head_dim_v = 16;
  c.dtype = DType::fp16;
  c.dtype_kv = DType::fp8_e4m3;
  c.layout = Layout::bshd;
  c.strides = {StrideKind::transposed, StrideKind::expanded, StrideKind::sliced, StrideKind::dense};
  c.mask = MaskKind::tensor;
  c.mask_tensor = {MaskPattern::random, {false, true, false, true}, MaskDType::dtype, MaskFill::minimum};
  c.alignment = Alignment::bottom_right;
  c.window_left = 127;
  c.window_right = 0;
  c.softcap = 30.5;
  c.scale = -0.25;
  c.alibi = std::vector<double>{0.5, 0.25, 1, 1, 1, 1, 1, 1e-2};
  c.lengths_q = {64, 0};
  c.lengths_kv = {128, 5};
  c.dead_rows = DeadRows::nan;
  c.pass = Pass::forward_backward;
  c.grad_layout = GradLayout::transposed;
  c.deterministic = true;
  c.dropout = 0.1;
  c.then = Then::merge_heads;
  c.inputs = Inputs::poison_padding;
  c.cache = Cache::warm;
  ASSERT_EQ(suite.cases.size(), 1u);
  EXPECT_EQ(suite.cases[0].value, c);
  EXPECT_THAT(suite.cases[0].tags, ElementsAre("big", "llama"));
  EXPECT_EQ(suite.cases[0].place, (Place{"s.yaml", 4, 5}));
}

TEST(Cases, ReadPages) {
  const Case c = only_case(kBasic + "lengths: {kv: [5]}\npage_size: 16\npage_order: shuffled\n");
  EXPECT_EQ(c.page_size, 16);
  EXPECT_EQ(c.page_order, PageOrder::shuffled);
}

TEST(Cases, TakeTheWordsThatStandForNothing) {
  const Case c = only_case(kBasic + "scale: default\nwindow: none\nalibi: none\nlengths: none\nmask: none\nsoftcap: 0\npage_size: 0\n");
  EXPECT_EQ(c, only_case(kBasic));
  EXPECT_EQ(only_case(kBasic + "alibi: {slopes: default}\n").alibi, std::vector<double>{});
  EXPECT_EQ(only_case(kBasic + "scale: 0\n").scale, 0.0);
}

TEST(Cases, TakeTheProductOfListsTheFirstVaryingSlowest) {
  EXPECT_THAT(ids(suite_text("dtype: [fp32, bf16]\nbatch: 1\nheads: 4\nhead_dim: 16\nseq: [8, 16]\n")),
              ElementsAre("x:fp32/b1/h4/q8.k8/d16", "x:fp32/b1/h4/q16.k16/d16", "x:bf16/b1/h4/q8.k8/d16", "x:bf16/b1/h4/q16.k16/d16"));
}

TEST(Cases, TakeAxesOfFieldsThatAreMapsOrLists) {
  EXPECT_THAT(ids(suite_text(kBasic + "window: [none, {left: [1, 2]}]\nmask: [none, causal, {tensor: random, shape: {axis: [[B, 1, Sq, Skv], [1, 1, 1, Skv]]}}]\n")),
              testing::SizeIs(12));
  EXPECT_THAT(ids(suite_text("batch: 2\nheads: 4\nhead_dim: 16\ndtype: fp32\nseq: 8\nlengths: {kv: {axis: [[8, 1], [0, 8]]}}\n")),
              ElementsAre("x:fp32/b2/h4/q8.k8/d16/lengths_kv=8,1", "x:fp32/b2/h4/q8.k8/d16/lengths_kv=0,8"));
  EXPECT_THAT(ids(suite_text("batch: 2\nheads: 4\nhead_dim: 16\ndtype: fp32\nseq: 8\nlengths: {axis: [none, {q: [8, 1]}]}\n")),
              ElementsAre("x:fp32/b2/h4/q8.k8/d16", "x:fp32/b2/h4/q8.k8/d16/lengths_q=8,1"));
  EXPECT_THAT(ids(suite_text("batch: {axis: [1, 2]}\nheads: 1\nhead_dim: 16\ndtype: fp32\nseq: 8\nalibi: {slopes: {axis: [default, [0.5]]}}\n")),
              ElementsAre("x:fp32/b1/h1/q8.k8/d16/alibi", "x:fp32/b1/h1/q8.k8/d16/alibi=0.5", "x:fp32/b2/h1/q8.k8/d16/alibi", "x:fp32/b2/h1/q8.k8/d16/alibi=0.5"));
  EXPECT_THAT(ids(suite_text(kBasic + "strides: {k: [dense, expanded], v: transposed}\n")),
              ElementsAre("x:fp32/b1/h4/q8.k8/d16/strides=dense.dense.transposed.dense", "x:fp32/b1/h4/q8.k8/d16/strides=dense.expanded.transposed.dense"));
}

TEST(Cases, SweepAroundASize) {
  EXPECT_THAT(ids(suite_text(kNoSeq + "seq: {sweep: around 1024}\n")),
              ElementsAre("x:fp32/b1/h4/q1023.k1023/d16", "x:fp32/b1/h4/q1024.k1024/d16", "x:fp32/b1/h4/q1025.k1025/d16"));
  EXPECT_THAT(ids(suite_text(kNoSeq + "seq: [7, {sweep: around 64}]\n")), testing::SizeIs(4));
}

TEST(Cases, OverrideTheDefaults) {
  const auto with_defaults = [](const std::string& defaults, const std::string& lines) {
    return ids("version: 1\nsuite: s\ndefaults: {" + defaults + "}\ncases:\n  - {name: x, " + lines + "}\nbackends: [naive]\n");
  };
  EXPECT_THAT(with_defaults("batch: 1, heads: 4, head_dim: 16, dtype: [fp32, bf16], seq: 8", "dtype: fp16"), ElementsAre("x:fp16/b1/h4/q8.k8/d16"));
  EXPECT_THAT(with_defaults("batch: 1, heads: 4, head_dim: 16, dtype: [fp32, bf16], seq: 8", "batch: [1, 2]"),
              ElementsAre("x:fp32/b1/h4/q8.k8/d16", "x:fp32/b2/h4/q8.k8/d16", "x:bf16/b1/h4/q8.k8/d16", "x:bf16/b2/h4/q8.k8/d16"));
  const std::string rest = "batch: 1, heads: 4, head_dim: 16, dtype: fp32, ";
  EXPECT_THAT(with_defaults(rest + "seq: [8, 9]", "seq_q: 1"), ElementsAre("x:fp32/b1/h4/q1.k8/d16", "x:fp32/b1/h4/q1.k9/d16"));
  EXPECT_THAT(with_defaults(rest + "seq: [8, 9]", "seq_q: 1, seq_kv: 2"), ElementsAre("x:fp32/b1/h4/q1.k2/d16"));
  EXPECT_THAT(with_defaults(rest + "seq_q: [8, 9], seq_kv: 7", "seq: 3"), ElementsAre("x:fp32/b1/h4/q3.k3/d16"));
}

struct Bad {
  std::string lines;
  const char* message;
};

class BadCase : public testing::TestWithParam<Bad> {};

TEST_P(BadCase, IsRefusedWithItsPlace) { EXPECT_EQ(message_of(suite_text(GetParam().lines)), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(
    All, BadCase,
    testing::Values(
        Bad{kBasic + "mask: causl\n", "s.yaml:10:11: mask: found \"causl\"; allowed are: none, causal, {tensor: causal, shape: [B, 1, Sq, Skv]}; did you mean causal?"},
        Bad{kBasic + "mask: tensor\n", "s.yaml:10:11: mask: found \"tensor\"; allowed are: none, causal, {tensor: causal, shape: [B, 1, Sq, Skv]}"},
        Bad{kBasic + "mask: {tensor: causal, shape: [B, 1, Skv, Sq]}\n", "s.yaml:10:42: shape: found \"Skv\"; allowed are: 1, Sq"},
        Bad{kBasic + "mask: {tensor: causal, shape: [1, 1]}\n", "s.yaml:10:35: shape: found 2 sizes; wanted are four, such as [B, 1, Sq, Skv], where 1 is broadcast"},
        Bad{kBasic + "mask: {tensor: causal, shape: [1, 1, 1, Skv]}\n", "s.yaml:10:11: mask: a causal mask differs by row, so its shape needs Sq"},
        Bad{kBasic + "mask: {tensor: causal, fill: min}\n", "s.yaml:10:34: fill: is of additive masks; it needs dtype: dtype"},
        Bad{kBasic + "mask: {shape: [1, 1, 1, 1]}\n", "s.yaml:10:11: a mask (none, causal or a tensor) needs the key tensor"},
        Bad{kBasic + "sinks: 4\n", "s.yaml:10:5: sinks is reserved and does nothing yet; remove it from a case"},
        Bad{kBasic + "q_scale: 4\n", "s.yaml:10:5: q_scale is reserved and does nothing yet; remove it from a case"},
        Bad{kBasic + "seq_q: 4\n", "s.yaml:10:12: seq_q: seq is set too, which sets seq_q and seq_kv; use either"},
        Bad{kBasic + "alignment: [top_left, top_right]\n", "s.yaml:10:27: alignment: found \"top_right\"; allowed are: top_left, bottom_right; did you mean top_left?"},
        Bad{kBasic + "window: {left: -2}\n", "s.yaml:10:20: left: found \"-2\"; wanted is a whole number from -1 to 16777216"},
        Bad{kBasic + "window: {}\n", "s.yaml:10:13: window: found an empty map; wanted is left, right or both"},
        Bad{kBasic + "softcap: -1\n", "s.yaml:10:14: softcap: found \"-1\"; wanted is a number of 0 (none) or more"},
        Bad{kBasic + "dropout: 1\n", "s.yaml:10:14: dropout: found \"1\"; wanted is a probability in [0, 1)"},
        Bad{kBasic + "deterministic: yes\n", "s.yaml:10:20: deterministic: found \"yes\"; allowed are: true, false"},
        Bad{kBasic + "alibi: {slopes: [0.5]}\n", "s.yaml:4:5: x: alibi.slopes has 1 entries, but heads is 4"},
        Bad{kBasic + "alibi: {slopes: defalt}\n", "s.yaml:10:21: slopes: found \"defalt\"; wanted is one slope per head, or default"},
        Bad{kBasic + "page_size: {swep: around 8}\n", "s.yaml:10:16: page_size: found a map; wanted is a whole number from 0 to 16777216 or {sweep: around 1024}"},
        Bad{kBasic + "alibi: {slopes: []}\n", "s.yaml:10:21: slopes: found an empty list; wanted is one slope per head, or default"},
        Bad{kBasic + "lengths: {q: [8, 8]}\n", "s.yaml:4:5: x: lengths.q has 2 entries, but batch is 1"},
        Bad{kBasic + "lengths: {q: [9]}\n", "s.yaml:4:5: x: lengths.q holds 9; allowed are 0 to 8"},
        Bad{kBasic + "page_size: 16\n", "s.yaml:4:5: x: page_size needs lengths.kv"},
        Bad{kBasic + "lengths: {kv: [5]}\npage_size: 16\npass: backward\n",
            "s.yaml:4:5: x: page_size needs pass: forward; pages hold a decoding cache, which has no gradients"},
        Bad{kBasic + "layout: thd\n", "s.yaml:4:5: x: layout thd needs lengths.q and lengths.kv"},
        Bad{kBasic + "heads_kv: [4, 3]\n", "s.yaml:4:5: x: heads 4 is no multiple of heads_kv 3"},
        Bad{kBasic + "tags: [\"a b\"]\n", "s.yaml:10:12: tags: found \"a b\"; a name is made of letters, digits and . _ + -"},
        Bad{kBasic + "strides: {q: [expanded, wrong]}\n", "s.yaml:10:29: q: found \"wrong\"; allowed are: dense, expanded, transposed, sliced"},
        Bad{kBasic + "cache: []\n", "s.yaml:10:12: cache: an empty list has no value to try"},
        Bad{kBasic + "cache: [[cold]]\n", "s.yaml:10:13: cache: found a list in a list; one list is one axis"},
        Bad{kBasic + "cache: {axis: cold}\n", "s.yaml:10:19: axis: found \"cold\"; wanted is a list of alternatives"},
        Bad{kBasic + "cache: {axis: [cold], x: 1}\n", "s.yaml:10:12: cache: axis stands alone in its map"},
        Bad{kBasic + "cache: {sweep: around 8}\n",
            "s.yaml:10:20: sweep: sweep is for sizes; allowed are: batch, heads, heads_kv, seq, seq_q, seq_kv, head_dim, head_dim_v, page_size"},
        Bad{kNoSeq + "seq: {sweep: 1024}\n", "s.yaml:9:18: sweep: found \"1024\"; wanted is: around N"},
        Bad{kNoSeq + "seq: {sweep: around 1}\n", "s.yaml:9:18: sweep: found \"1\"; wanted is a whole number from 2 to 16777216"},
        Bad{kNoSeq + "seq: 010\n", "s.yaml:9:10: seq: found 010: a leading zero means octal to some readers of YAML and nothing to others; write the number without it"},
        Bad{kNoSeq + "seq: \"8\"\n", "s.yaml:9:10: seq: found the text \"8\"; wanted is a whole number from 1 to 16777216 or {sweep: around 1024}, without quotes"},
        Bad{kNoSeq + "seq: [8, 8]\n", "s.yaml:4:5: the case x:fp32/b1/h4/q8.k8/d16 stands here and at s.yaml:4:5"},
        Bad{kNoSeq + "seq_q: 8\n", "s.yaml:4:5: a case needs the key seq_kv (or seq, which sets seq_q and seq_kv), here or in the defaults"},
        Bad{"batch: 1\n", "s.yaml:4:5: a case needs the key heads, here or in the defaults"},
        Bad{kNoSeq + "seq_q: 4\nseq_kv: [4, 8]\nmask: causal\n",
            "s.yaml:4:5: x: alignment is required (top_left or bottom_right): causal, a window or alibi is set and seq_q 4 differs from seq_kv 8"},
        Bad{kNoSeq + "seq_q: 4\nseq_kv: [4, 8]\nwindow: {left: 2}\n",
            "s.yaml:4:5: x: alignment is required (top_left or bottom_right): causal, a window or alibi is set and seq_q 4 differs from seq_kv 8"},
        Bad{kNoSeq + "seq_q: 4\nseq_kv: 8\nmask: {tensor: causal}\n",
            "s.yaml:4:5: x: alignment is required (top_left or bottom_right): causal, a window or alibi is set and seq_q 4 differs from seq_kv 8"},
        Bad{kNoSeq + "seq_q: 4\nseq_kv: 8\nalibi: {slopes: default}\n",
            "s.yaml:4:5: x: alignment is required (top_left or bottom_right): causal, a window or alibi is set and seq_q 4 differs from seq_kv 8"},
        Bad{"batch: 65536\nheads: 65536\nhead_dim: 64\ndtype: fp32\nseq: 8\n", "s.yaml:4:5: x: a tensor of more than 1e+12 elements"},
        Bad{kNoSeq + "seq: 16777216\nmask: {tensor: causal}\n", "s.yaml:4:5: x: a mask of more than 1e+12 elements"}));

TEST(Cases, NameTheNearestField) {
  EXPECT_THAT(message_of(suite_text(kBasic + "heds: 4\n")), testing::AllOf(HasSubstr("s.yaml:10:5: unknown key \"heds\" in a case; allowed are: name, batch,"),
                                                                             testing::EndsWith("did you mean heads?")));
}

TEST(Cases, NamesAreSafeForFilesAndFilters) {
  const auto name = [](const std::string& text) { return message_of("version: 1\nsuite: s\ncases:\n  - {name: " + text + ", batch: 1, heads: 1, seq: 1, head_dim: 1, dtype: fp32}\nbackends: [a]\n"); };
  EXPECT_EQ(name("llama3-8b/pre.fill_1+x"), "no error");
  for (const char* bad : {"a:b", "/a", "a/", "a//b", "a b", "../a", "a/./b", "é", "\"\"", "a$"})
    EXPECT_THAT(name(bad), HasSubstr("s.yaml:4:12: name: found ")) << bad;
  EXPECT_THAT(message_of("version: 1\nsuite: s\ncases:\n  - {batch: 1}\nbackends: [a]\n"), HasSubstr("s.yaml:4:5: a case needs the key name"));
}

TEST(Cases, OfOneIdNameBothPlaces) {
  const std::string one = "{name: x, batch: 1, heads: 1, seq: 1, head_dim: 1, dtype: fp32}";
  EXPECT_EQ(message_of("version: 1\nsuite: s\ncases:\n  - " + one + "\n  - " + one + "\nbackends: [a]\n"), "s.yaml:5:5: the case x:fp32/b1/h1/q1.k1/d1 stands here and at s.yaml:4:5");
}

TEST(Cases, AreAtMostTenThousand) {
  const std::string numbers = count_to(100);
  const std::string lines = "heads: 1\nhead_dim: 16\ndtype: fp32\nbatch: [" + numbers + "]\nseq: [" + numbers;
  EXPECT_EQ(parse_suite(suite_text(lines + "]\n"), "s.yaml").cases.size(), 10'000u);
  EXPECT_EQ(message_of(suite_text(lines + ",101]\n")), "s.yaml:4:5: x: the product of batch 100 x seq 101 is too large; a suite has at most 10000 cases");
  EXPECT_EQ(message_of(suite_text(lines + "]\npage_size: [1,2,3]\nlengths: {q: {axis: [[1],[2]]}, kv: {axis: [[1],[2]]}}\n")),
            "s.yaml:4:5: x: the product of batch 100 x seq 100 x page_size 3 x lengths 4 is too large; a suite has at most 10000 cases");
}

TEST(Cases, HaveIdsOfBoundedLength) {
  std::string lengths = "8";
  for (int i = 1; i < 5000; ++i) lengths += ", 8";
  EXPECT_THAT(message_of(suite_text("batch: 5000\nheads: 1\nhead_dim: 1\ndtype: fp32\nseq: 8\nlengths: {q: [" + lengths + "]}\n")), HasSubstr("x: its id has "));
}

}  // namespace
}  // namespace attn
