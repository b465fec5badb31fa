#include "core/case.hpp"

#include <gmock/gmock.h>

#include "abi/attn_abi.h"

namespace attn {
namespace {

using testing::ElementsAre;

Case causal(std::int64_t seq_q, std::int64_t seq_kv, std::optional<Alignment> alignment = {}) {
  Case c;
  c.name = "c";
  c.seq_q = seq_q;
  c.seq_kv = seq_kv;
  c.mask = MaskKind::causal;
  c.alignment = alignment;
  return c;
}

std::vector<std::int64_t> sizes(const Case& c) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t row = 0; row < c.seq_q; ++row) sizes.push_back(visible_keys(c, 0, row).size());
  return sizes;
}

TEST(Visibility, FollowsTheAlignment) {
  EXPECT_THAT(sizes(causal(2, 4, Alignment::top_left)), ElementsAre(1, 2));
  EXPECT_THAT(sizes(causal(2, 4, Alignment::bottom_right)), ElementsAre(3, 4));
  EXPECT_THAT(sizes(causal(4, 2, Alignment::top_left)), ElementsAre(1, 2, 2, 2));
  EXPECT_THAT(sizes(causal(4, 2, Alignment::bottom_right)), ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(sizes(causal(1, 4, Alignment::bottom_right)), ElementsAre(4));
}

TEST(Visibility, CountsAWindowsTokensBesidesTheOwnOne) {
  Case c = causal(6, 6);
  c.window_left = 2;
  EXPECT_THAT(sizes(c), ElementsAre(1, 2, 3, 3, 3, 3));
  c.window_left = 0;
  EXPECT_THAT(sizes(c), ElementsAre(1, 1, 1, 1, 1, 1));
  c.mask = MaskKind::none;
  c.window_right = 1;
  EXPECT_THAT(sizes(c), ElementsAre(2, 2, 2, 2, 2, 1));
}

TEST(Visibility, KeepsLengthsPerSequence) {
  Case c = causal(4, 4, Alignment::bottom_right);
  c.batch = 3;
  c.lengths_q = {2, 0, 4};
  c.lengths_kv = {4, 3, 0};
  EXPECT_EQ(visible_keys(c, 0, 0).size(), 3);
  EXPECT_EQ(visible_keys(c, 0, 2).size(), 0);  // past the sequence
  EXPECT_EQ(visible_keys(c, 1, 0).size(), 0);
  EXPECT_EQ(visible_keys(c, 2, 3).size(), 0);
  EXPECT_TRUE(may_have_dead_rows(c));
}

TEST(DeadRows, AreSeenWhereGeometryMakesThem) {
  EXPECT_FALSE(may_have_dead_rows(causal(4, 4)));
  EXPECT_FALSE(may_have_dead_rows(causal(2, 4, Alignment::bottom_right)));
  EXPECT_TRUE(may_have_dead_rows(causal(4, 2, Alignment::bottom_right)));
  EXPECT_FALSE(may_have_dead_rows(causal(4, 2, Alignment::top_left)));
}

// What the masks of inputs.hpp really hide is tested against the reference in engine/dead_rows_test.cpp.
TEST(DeadRows, OfARandomMaskNeedARowWhoseShownKeyIsNotItsOwn) {
  Case c = causal(9, 35);
  c.mask = MaskKind::tensor;
  c.mask_tensor = {.pattern = MaskPattern::random, .full = {false, false, true, true}};
  EXPECT_FALSE(may_have_dead_rows(c));
  EXPECT_EQ(needs(c) & ATTN_CAN_DEAD_ZERO, 0u);
  c.alignment = Alignment::bottom_right;
  EXPECT_FALSE(may_have_dead_rows(c));
  c.lengths_kv = {20};  // row 8 always sees key 34, which the sequence lacks
  EXPECT_TRUE(may_have_dead_rows(c));
  c.mask_tensor.full[3] = false;
  EXPECT_FALSE(may_have_dead_rows(c));
}

TEST(Slopes, AreThoseOfThePaperForAnyHeadCount) {
  EXPECT_THAT(default_slopes(6), ElementsAre(1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256, 1.0 / 2, 1.0 / 8));
  EXPECT_THAT(default_slopes(1), ElementsAre(1.0 / 256));
  EXPECT_EQ(default_slopes(8).front(), 0.5);
}

TEST(Needs, SetsABitOnlyWhereLeavingItOutWouldChangeTheAnswer) {
  EXPECT_EQ(needs(causal(4, 4)), ATTN_CAN_FP32 | ATTN_CAN_CAUSAL);
  EXPECT_EQ(needs(causal(4, 4, Alignment::bottom_right)), ATTN_CAN_FP32 | ATTN_CAN_CAUSAL);
  EXPECT_EQ(needs(causal(2, 4, Alignment::bottom_right)), ATTN_CAN_FP32 | ATTN_CAN_CAUSAL | ATTN_CAN_ALIGN_BOTTOM_RIGHT);
  EXPECT_EQ(needs(causal(4, 2, Alignment::bottom_right)), ATTN_CAN_FP32 | ATTN_CAN_CAUSAL | ATTN_CAN_ALIGN_BOTTOM_RIGHT | ATTN_CAN_DEAD_ZERO);
  Case c = causal(4, 4);
  c.scale = 0.125;
  EXPECT_EQ(needs(c) & ATTN_CAN_SCALE, 0u);  // 1/sqrt(64)
  c.scale = 0;
  EXPECT_NE(needs(c) & ATTN_CAN_SCALE, 0u);
  c.mask = MaskKind::tensor;
  EXPECT_NE(needs(c) & ATTN_CAN_MASK_BOOL, 0u);
  c.mask_tensor.dtype = MaskDType::dtype;
  EXPECT_NE(needs(c) & ATTN_CAN_MASK_ADDITIVE, 0u);
  EXPECT_EQ(words_of_bits(ATTN_CAN_BF16 | ATTN_CAN_GQA | ATTN_CAN_LSE), "bf16, gqa, lse");
}

TEST(Flops, CountVisiblePairsOnly) {
  Case c = causal(4, 4);
  c.heads = 2;
  c.head_dim = c.head_dim_v = 8;
  EXPECT_EQ(flops(c), 2.0 * 10 * 2 * 16);
  c.mask = MaskKind::none;
  EXPECT_EQ(flops(c), 2.0 * 16 * 2 * 16);
  c.pass = Pass::forward_backward;
  EXPECT_EQ(flops(c), 3.5 * 2.0 * 16 * 2 * 16);
}

TEST(Bytes, ReadInputsAndWriteOutputsOnce) {
  Case c = causal(4, 8, Alignment::top_left);
  c.dtype = c.dtype_kv = DType::bf16;
  c.heads = 4;
  c.heads_kv = 2;
  c.head_dim = c.head_dim_v = 16;
  EXPECT_EQ(minimal_bytes(c), 2.0 * (2 * 4 * 4 * 16 + 2 * 2 * 8 * 16));
}

TEST(Impossible, NamesTheRuleThatIsBroken) {
  Case c = causal(2, 4);
  EXPECT_THAT(*impossible(c), testing::HasSubstr("alignment is required"));
  c = causal(9, 9);
  c.batch = 2;
  c.lengths_q = {9, 5};
  c.lengths_kv = {9, 7};
  EXPECT_THAT(*impossible(c), testing::HasSubstr("alignment is required (top_left or bottom_right): causal, a window or alibi is set and sequence 1 has 5 rows and 7 keys"));
  c.alignment = Alignment::top_left;
  EXPECT_FALSE(impossible(c));
  c.alignment.reset();
  c.mask = MaskKind::none;
  EXPECT_FALSE(impossible(c));
  c.alibi.emplace();
  EXPECT_THAT(*impossible(c), testing::HasSubstr("alignment is required"));
  c.alibi.reset();
  c.window_left = 2;
  EXPECT_THAT(*impossible(c), testing::HasSubstr("alignment is required"));
  c.lengths_q = {9, 0};  // a sequence without rows has no diagonal
  EXPECT_FALSE(impossible(c));
  c = causal(4, 4);
  c.heads = 6;
  c.heads_kv = 4;
  EXPECT_THAT(*impossible(c), testing::HasSubstr("heads 6 is no multiple of heads_kv 4"));
  c = causal(4, 4);
  c.batch = 2;
  c.lengths_kv = {4};
  EXPECT_THAT(*impossible(c), testing::HasSubstr("lengths.kv has 1 entries, but batch is 2"));
  c = causal(4, 4);
  c.layout = Layout::thd;
  EXPECT_THAT(*impossible(c), testing::HasSubstr("thd needs lengths"));
  c = causal(4, 4);
  c.strides.o = StrideKind::expanded;
  EXPECT_THAT(*impossible(c), testing::HasSubstr("strides.o"));
  EXPECT_FALSE(impossible(causal(4, 4)));
}

}  // namespace
}  // namespace attn
