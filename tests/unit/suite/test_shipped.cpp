#include <gtest/gtest.h>

#include <set>

#include "suite/plan.hpp"
#include "suite/read_suite.hpp"

namespace attn {
namespace {

class ShippedSuite : public testing::TestWithParam<const char*> {};

TEST_P(ShippedSuite, ReadsAndItsIdsAreCanonical) {
  const Suite suite = read_suite(std::string(ATTN_SOURCE_DIR) + "/suites/" + GetParam() + ".yaml");
  EXPECT_EQ(suite.name, GetParam());
  for (const SuiteCase& each : suite.cases) EXPECT_EQ(parse_case_id(case_id(each.value)), each.value) << case_id(each.value);
  EXPECT_FALSE(suite.expectations.empty());
}

INSTANTIATE_TEST_SUITE_P(All, ShippedSuite, testing::Values("smoke", "llama", "article", "accounting", "mistral", "gemma2", "qwen", "deepseek-mla", "gpt-oss", "bert-vit",
                                                               "diffusion", "whisper", "edges", "training"));

TEST(SmokeSuite, CoversWhatBackendsGetWrong) {
  const Suite suite = read_suite(ATTN_SOURCE_DIR "/suites/smoke.yaml");
  std::uint64_t bits = 0;
  for (const SuiteCase& each : suite.cases) bits |= needs(each.value);
  const std::set<std::string> wanted{"fp32", "fp16", "bf16", "gqa", "causal", "top_left", "bottom_right", "window", "softcap", "scale", "alibi", "bool mask", "additive mask", "lengths", "head_dim_v"};
  const std::string have = ", " + words_of_bits(bits) + ",";
  for (const std::string& word : wanted) EXPECT_NE(have.find(", " + word + ","), std::string::npos) << word << " in " << have;
}

// A window in a suite counts tokens besides the own one; models count the own one too.
TEST(ModelSuites, HaveTheWindowsOfTheirModels) {
  for (const auto& [name, window] : {std::pair{"mistral", 4096}, {"gemma2", 4096}, {"gpt-oss", 128}}) {
    std::set<std::int64_t> lefts;
    for (const SuiteCase& each : read_suite(std::string(ATTN_SOURCE_DIR) + "/suites/" + name + ".yaml").cases)
      if (each.value.window_left >= 0) lefts.insert(each.value.window_left);
    EXPECT_EQ(lefts, std::set<std::int64_t>{window - 1}) << name;
  }
}

TEST(EdgesSuite, NeedsEveryCapabilityThatACpuHasAndUsesEveryRecipe) {
  const Suite suite = read_suite(ATTN_SOURCE_DIR "/suites/edges.yaml");
  std::uint64_t bits = 0;
  std::set<Inputs> inputs;
  for (const SuiteCase& each : suite.cases) {
    bits |= needs(each.value);
    inputs.insert(each.value.inputs);
  }
  const std::string have = ", " + words_of_bits(bits) + ",";
  for (const std::string word : {"fp32", "fp16", "bf16", "mixed dtype_kv", "gqa", "head_dim_v", "causal", "top_left", "bottom_right", "window", "softcap", "scale", "alibi",
                                 "bool mask", "additive mask", "lengths", "ragged (thd)", "paged", "backward", "deterministic", "strides", "dead_rows zero",
                                 "dead_rows nan", "dead_rows mean"})
    EXPECT_NE(have.find(", " + word + ","), std::string::npos) << word << " in " << have;
  EXPECT_EQ(inputs.size(), Words<Inputs>::list.size());
}

TEST(ArticleSuite, IsOneShape) {
  const Suite suite = read_suite(ATTN_SOURCE_DIR "/suites/article.yaml");
  ASSERT_EQ(suite.cases.size(), 1u);
  EXPECT_EQ(case_id(suite.cases[0].value), "b8-h16-s1024-d64:bf16/b8/h16/q1024.k1024/d64/causal");
}

}  // namespace
}  // namespace attn
