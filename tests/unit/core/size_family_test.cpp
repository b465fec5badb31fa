#include "core/size_family.hpp"

#include <gtest/gtest.h>

namespace attn {
namespace {

SuiteCase with(std::int64_t seq_q, std::int64_t seq_kv, std::int64_t heads = 8, std::int64_t heads_kv = 2) {
  Case c;
  c.name = "m";
  c.seq_q = seq_q;
  c.seq_kv = seq_kv;
  c.heads = heads;
  c.heads_kv = heads_kv;
  return {c, {}, {}};
}

TEST(SizeFamily, TakesTheLargestCaseOfAtMostHalfTheSize) {
  const std::vector<SuiteCase> cases{with(128, 128), with(512, 512), with(513, 513), with(256, 256), with(1024, 1024)};
  EXPECT_EQ(smaller_case(cases[4].value, SizeAxis::seq, cases), &cases[1]);
  EXPECT_EQ(smaller_case(cases[2].value, SizeAxis::seq, cases), &cases[3]) << "512 is too close to 513";
  EXPECT_EQ(smaller_case(cases[0].value, SizeAxis::seq, cases), nullptr);
}

TEST(SizeFamily, SizesThatBelongTogetherGrowInProportion) {
  const std::vector<SuiteCase> cases{with(64, 64), with(64, 256), with(128, 512), with(128, 128, 8, 4), with(128, 128)};
  EXPECT_EQ(smaller_case(cases[2].value, SizeAxis::seq, cases), &cases[1]) << "one query to four keys";
  EXPECT_EQ(smaller_case(cases[4].value, SizeAxis::seq, cases), &cases[0]);
  EXPECT_EQ(smaller_case(cases[3].value, SizeAxis::seq, cases), nullptr) << "other heads_kv";
  const std::vector<SuiteCase> heads{with(64, 64, 8, 2), with(64, 64, 16, 4), with(64, 64, 32, 4)};
  EXPECT_EQ(smaller_case(heads[1].value, SizeAxis::heads, heads), &heads[0]);
  EXPECT_EQ(smaller_case(heads[2].value, SizeAxis::heads, heads), nullptr);
}

TEST(SizeFamily, ASizeMayBeFollowedAlone) {
  const std::vector<SuiteCase> cases{with(1, 64), with(1, 128), with(2, 128)};
  EXPECT_EQ(smaller_case(cases[1].value, SizeAxis::seq_kv, cases), &cases[0]);
  EXPECT_EQ(smaller_case(cases[2].value, SizeAxis::seq_q, cases), &cases[1]);
  EXPECT_EQ(smaller_case(cases[1].value, SizeAxis::seq, cases), nullptr);
}

TEST(SizeFamily, WhatDiffersElsewhereIsAnotherFamily) {
  std::vector<SuiteCase> cases{with(64, 64), with(128, 128)};
  ASSERT_NE(smaller_case(cases[1].value, SizeAxis::seq, cases), nullptr);
  cases[0].value.mask = MaskKind::causal;
  EXPECT_EQ(smaller_case(cases[1].value, SizeAxis::seq, cases), nullptr);
  cases[1].value.mask = MaskKind::causal;
  EXPECT_NE(smaller_case(cases[1].value, SizeAxis::seq, cases), nullptr);
  cases[0].value.name = "other";
  EXPECT_EQ(smaller_case(cases[1].value, SizeAxis::seq, cases), nullptr);
}

}  // namespace
}  // namespace attn
