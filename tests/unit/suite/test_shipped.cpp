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

INSTANTIATE_TEST_SUITE_P(All, ShippedSuite, testing::Values("smoke", "llama", "article"));

TEST(SmokeSuite, CoversWhatBackendsGetWrong) {
  const Suite suite = read_suite(ATTN_SOURCE_DIR "/suites/smoke.yaml");
  std::uint64_t bits = 0;
  for (const SuiteCase& each : suite.cases) bits |= needs(each.value);
  const std::set<std::string> wanted{"fp32", "fp16", "bf16", "gqa", "causal", "top_left", "bottom_right", "window", "softcap", "scale", "alibi", "bool mask", "additive mask", "lengths", "head_dim_v"};
  const std::string have = ", " + words_of_bits(bits) + ",";
  for (const std::string& word : wanted) EXPECT_NE(have.find(", " + word + ","), std::string::npos) << word << " in " << have;
}

TEST(ArticleSuite, IsOneShape) {
  const Suite suite = read_suite(ATTN_SOURCE_DIR "/suites/article.yaml");
  ASSERT_EQ(suite.cases.size(), 1u);
  EXPECT_EQ(case_id(suite.cases[0].value), "b8-h16-s1024-d64:bf16/b8/h16/q1024.k1024/d64/causal");
}

}  // namespace
}  // namespace attn
