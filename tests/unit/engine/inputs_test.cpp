#include "engine/inputs.hpp"

#include <gmock/gmock.h>

#include <bit>

#include "input_hashes.hpp"
#include "problem.hpp"

namespace attn {
namespace {

using testing::ElementsAre;

float at(const TensorView& t, std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) { return t.load(b, h, s, d); }

bool visible(const Problem& p, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  return static_cast<const std::uint8_t*>(p.operands.mask.data)[p.operands.mask.offset(b, h, i, j)] == 1;
}

TEST(Inputs, DoNotDependOnStrides) {
  const Case c = shaped(2, 3, 3, 5, 7, 4);
  Problem dense(c);
  Problem other(c);
  other.operands.q.strides = {4, 2 * 4, 3 * 2 * 4, 1};  // (seq, heads, batch, head_dim)
  other.fill(1);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 3; ++h)
      for (std::int64_t s = 0; s < 5; ++s)
        for (std::int64_t d = 0; d < 4; ++d) ASSERT_EQ(at(dense.operands.q, b, h, s, d), at(other.operands.q, b, h, s, d));
}

TEST(Inputs, OfAnotherSeedAreOthersAndTheTensorsDiffer) {
  Problem a(shaped(1, 1, 1, 4, 4, 4), 1), b(shaped(1, 1, 1, 4, 4, 4), 2);
  EXPECT_NE(at(a.operands.q, 0, 0, 0, 0), at(b.operands.q, 0, 0, 0, 0));
  EXPECT_NE(at(a.operands.q, 0, 0, 0, 0), at(a.operands.k, 0, 0, 0, 0));
}

TEST(Inputs, OfHeadsThatShareMemoryAreThoseOfTheFirstHead) {
  const Case c = shaped(2, 4, 4, 3, 3, 4);
  Problem dense(c), shared(c);
  shared.operands.k.strides[1] = 0;
  shared.fill(1);
  EXPECT_EQ(at(shared.operands.k, 1, 3, 2, 1), at(dense.operands.k, 1, 0, 2, 1));
}

TEST(Inputs, OfOverlappingRowsAreThoseOfTheLowestIndex) {
  const Case c = shaped(1, 1, 1, 6, 6, 4);
  Problem dense(c), overlapping(c);
  overlapping.operands.k.strides[2] = 1;  // row s begins at element s
  overlapping.fill(1);
  EXPECT_EQ(at(overlapping.operands.k, 0, 0, 0, 3), at(dense.operands.k, 0, 0, 0, 3));
  EXPECT_EQ(at(overlapping.operands.k, 0, 0, 3, 0), at(dense.operands.k, 0, 0, 0, 3));
  EXPECT_EQ(at(overlapping.operands.k, 0, 0, 3, 3), at(dense.operands.k, 0, 0, 3, 3));
}

TEST(Inputs, PoisonStandsExactlyPastTheLengths) {
  Problem p(with(shaped(2, 1, 1, 4, 5, 3, DType::bf16), [](Case& c) {
    c.inputs = Inputs::poison_padding;
    c.lengths_q = {4, 1};
    c.lengths_kv = {2, 5};
  }));
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t s = 0; s < 4; ++s) EXPECT_EQ(std::isnan(at(p.operands.q, b, 0, s, 2)), s >= rows_of(p.c, b)) << b << s;
    for (std::int64_t s = 0; s < 5; ++s) {
      EXPECT_EQ(std::isnan(at(p.operands.k, b, 0, s, 0)), s >= keys_of(p.c, b)) << b << s;
      EXPECT_EQ(std::isnan(at(p.operands.v, b, 0, s, 1)), s >= keys_of(p.c, b)) << b << s;
    }
  }
}

TEST(Inputs, RampCountsOnFromQToK) {
  Problem p(with(shaped(1, 1, 1, 3, 3, 2), [](Case& c) { c.inputs = Inputs::ramp; }));
  EXPECT_EQ(at(p.operands.q, 0, 0, 0, 0), 0.1f);
  EXPECT_EQ(at(p.operands.q, 0, 0, 2, 1), 0.6f);
  EXPECT_EQ(at(p.operands.k, 0, 0, 0, 0), 0.7f);
  EXPECT_EQ(at(p.operands.k, 0, 0, 2, 1), 1.2f);
  EXPECT_EQ(at(p.operands.v, 0, 0, 2, 1), 6.0f);
}

TEST(Inputs, SoftcapProbeGivesScoresZeroAndTenAtAnyScale) {
  for (const double scale : {1.0, 0.125, -3.0, 1e-4, 250.0}) {
    Problem p(with(shaped(1, 1, 1, 2, 4, 8), [&](Case& c) {
      c.inputs = Inputs::softcap_probe;
      c.scale = scale;
    }));
    for (std::int64_t j = 0; j < 4; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < 8; ++d) score += static_cast<double>(at(p.operands.q, 0, 0, 1, d)) * at(p.operands.k, 0, 0, j, d) * scale;
      EXPECT_NEAR(score, j % 2 ? 10 : 0, 1e-5) << scale;
    }
  }
}

TEST(Inputs, NegativeLogitsAreFarBelowZeroInEveryDtype) {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3, DType::fp8_e5m2}) {
    Problem p(with(shaped(1, 2, 1, 16, 16, 64, dtype), [](Case& c) { c.inputs = Inputs::negative_logits; }));
    const Evaluation rows = p.right_rows();
    for (const double lse : rows.lse) EXPECT_LT(lse, -104) << word(dtype);  // exp() is 0 in float
  }
}

TEST(Inputs, CountsStayExactInEveryDtype) {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3, DType::fp8_e5m2}) {
    Problem p(with(shaped(1, 1, 1, 1, 5000, 4, dtype), [](Case& c) { c.inputs = Inputs::visibility; }));
    float before = -1;
    for (std::int64_t j = 0; j < 5000; ++j) {
      const float value = at(p.operands.v, 0, 0, j, 0);
      ASSERT_TRUE(value == before + 1 || value == 0) << word(dtype) << " " << j;
      before = value;
    }
  }
}

TEST(Inputs, HaveThePinnedHashes) {
  for (const PinnedInputs& pinned : pinned_inputs()) {
    const Problem p(pinned.value, pinned.seed);
    const std::uint64_t hash = hash_inputs({p.operands.q, p.operands.k, p.operands.v, p.operands.mask});
    EXPECT_EQ(hash, pinned.hash) << case_id(pinned.value) << std::hex << " " << hash;
  }
}

Case masked(MaskPattern pattern, std::array<bool, 4> full, std::int64_t seq_q, std::int64_t seq_kv) {
  Case c = shaped(2, 3, 3, seq_q, seq_kv, 4);
  c.mask = MaskKind::tensor;
  c.mask_tensor.pattern = pattern;
  c.mask_tensor.full = full;
  c.alignment = Alignment::bottom_right;
  return c;
}

TEST(Mask, CausalFollowsTheAlignment) {
  Problem p(masked(MaskPattern::causal, {false, false, true, true}, 3, 5));
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 5; ++j) EXPECT_EQ(visible(p, 0, 0, i, j), j <= i + 2);
  p.c.alignment = Alignment::top_left;
  p.fill(1);
  for (std::int64_t j = 0; j < 5; ++j) EXPECT_EQ(visible(p, 0, 0, 1, j), j <= 1);
}

TEST(Mask, RandomHidesHalfAndLeavesEveryRowAKey) {
  Problem p(masked(MaskPattern::random, {true, true, true, true}, 40, 50));
  int shown = 0;
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 3; ++h)
      for (std::int64_t i = 0; i < 40; ++i) {
        EXPECT_TRUE(visible(p, b, h, i, i + 10));
        for (std::int64_t j = 0; j < 50; ++j) shown += visible(p, b, h, i, j);
      }
  EXPECT_NEAR(shown / (6.0 * 40 * 50), 0.5, 0.03);
}

TEST(Mask, RowsDeadAlwaysKillsTheLastRowAndLeavesOthers) {
  Problem p(masked(MaskPattern::rows_dead, {true, false, true, true}, 40, 50));
  int dead = 0;
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t i = 0; i < 40; ++i) {
      int shown = 0;
      for (std::int64_t j = 0; j < 50; ++j) shown += visible(p, b, 0, i, j);
      dead += shown == 0;
      EXPECT_TRUE(i < 39 || shown == 0);
      EXPECT_EQ(shown == 0, is_dead(p.right(), p.operands.mask, {b, 2, i}));
    }
  EXPECT_GT(dead, 2);
  EXPECT_LT(dead, 60);
}

TEST(Mask, AdditiveHoldsTheFillItsDtypeCanHold) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const auto& [dtype, fill, want] : {std::tuple{DType::fp32, MaskFill::minus_infinity, -inf}, {DType::bf16, MaskFill::minus_infinity, -inf},
                                          {DType::fp16, MaskFill::minimum, -65504.0f}, {DType::fp8_e4m3, MaskFill::minus_infinity, -448.0f}}) {
    Case c = masked(MaskPattern::causal, {false, false, true, true}, 3, 3);
    c.dtype = c.dtype_kv = dtype;
    c.mask_tensor.dtype = MaskDType::dtype;
    c.mask_tensor.fill = fill;
    Problem p(c);
    EXPECT_EQ(at(p.operands.mask, 0, 0, 0, 1), want);
    EXPECT_EQ(at(p.operands.mask, 0, 0, 1, 1), 0.0f);
  }
}

TEST(Mask, OfOneRowForAllIsWholeAndBroadcast) {
  Problem p(masked(MaskPattern::random, {true, false, false, true}, 4, 64));
  int shown = 0;
  for (std::int64_t j = 0; j < 64; ++j) shown += visible(p, 1, 0, 0, j);
  EXPECT_GT(shown, 10);
  const Evaluation rows = p.right_rows();
  for (const std::int64_t count : rows.visible) EXPECT_GT(count, 10);
}

}  // namespace
}  // namespace attn
