#include "engine/reference.hpp"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <cmath>
#include <limits>

#include "problem.hpp"

namespace attn {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

MATCHER(NearOrBothNan, "") {
  const double a = std::get<0>(arg), b = std::get<1>(arg);
  return std::isnan(b) ? std::isnan(a) : std::fabs(a - b) < 5e-6;
}

std::vector<double> column_of(const Case& c) { return Problem(c).first_column(); }

Case probe(std::int64_t seq_q, std::int64_t seq_kv, Inputs inputs) {
  Case c = shaped(1, 1, 1, seq_q, seq_kv, 4);
  c.inputs = inputs;
  return c;
}

Case causal(std::int64_t seq_q, std::int64_t seq_kv, Alignment alignment) {
  Case c = probe(seq_q, seq_kv, Inputs::visibility);
  c.mask = MaskKind::causal;
  c.alignment = alignment;
  return c;
}

// P1, R26: one library anchors causal masks top left, another bottom right.
TEST(Reference, AnchorsTheDiagonalAsTheAlignmentSays) {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3, DType::fp8_e5m2})
    for (const DeadRows policy : {DeadRows::zero, DeadRows::nan}) {
      const auto rows = [&](std::int64_t seq_q, std::int64_t seq_kv, Alignment alignment) {
        return column_of(with(causal(seq_q, seq_kv, alignment), [&](Case& c) {
          c.dtype = c.dtype_kv = dtype;
          c.dead_rows = policy;
        }));
      };
      const double dead = policy == DeadRows::zero ? 0 : kNan;
      EXPECT_THAT(rows(2, 4, Alignment::top_left), ElementsAre(0, 0.5));
      EXPECT_THAT(rows(2, 4, Alignment::bottom_right), ElementsAre(1, 1.5));
      EXPECT_THAT(rows(4, 2, Alignment::top_left), ElementsAre(0, 0.5, 0.5, 0.5));
      EXPECT_THAT(rows(4, 2, Alignment::bottom_right), Pointwise(NearOrBothNan(), {dead, dead, 0.0, 0.5}));
      EXPECT_THAT(rows(1, 4, Alignment::top_left), ElementsAre(0));
      EXPECT_THAT(rows(1, 4, Alignment::bottom_right), ElementsAre(1.5));
    }
}

// P2, R34: a window of W tokens that counts the own one has W - 1 tokens to the left.
TEST(Reference, CountsAWindowsTokensBesidesTheOwnOne) {
  const auto rows = [](std::int64_t left) { return column_of(with(causal(6, 6, Alignment::top_left), [&](Case& c) { c.window_left = left; })); };
  EXPECT_THAT(rows(0), ElementsAre(0, 1, 2, 3, 4, 5));        // W = 1
  EXPECT_THAT(rows(2), ElementsAre(0, 0.5, 1, 2, 3, 4));      // W = 3
  EXPECT_THAT(rows(5), ElementsAre(0, 0.5, 1, 1.5, 2, 2.5));  // W = S
  EXPECT_THAT(rows(-1), ElementsAre(0, 0.5, 1, 1.5, 2, 2.5));
  EXPECT_THAT(rows(3), ElementsAre(0, 0.5, 1, 1.5, 2.5, 3.5));  // what "one too wide" gives
  const auto both = column_of(with(probe(6, 6, Inputs::visibility), [](Case& c) { c.window_left = 1, c.window_right = 2; }));
  EXPECT_THAT(both, ElementsAre(1, 1.5, 2.5, 3.5, 4, 4.5));
}

TEST(Reference, TakesTheScaleLiterally) {  // P3, R46
  const auto row = [](std::optional<double> scale) { return column_of(with(probe(1, 2, Inputs::scale_probe), [&](Case& c) { c.scale = scale; }))[0]; };
  EXPECT_NEAR(row(1), 2.0, 1e-8);
  EXPECT_NEAR(row(2), 2.4, 1e-8);
  EXPECT_NEAR(row({}), 1.75736, 5e-6);
  EXPECT_EQ(row(0), 1.5);
  EXPECT_NEAR(row(-1), 1.0, 1e-8);
}

TEST(Reference, CapsScores) {  // P4
  const auto row = [](double cap, std::optional<double> scale) {
    return column_of(with(probe(1, 2, Inputs::softcap_probe), [&](Case& c) { c.softcap = cap, c.scale = scale; }))[0];
  };
  for (const std::optional<double> scale : {std::optional<double>{}, std::optional(1.0), std::optional(0.125)}) {
    EXPECT_NEAR(row(2, scale), 0.880778, 5e-7);
    EXPECT_NEAR(row(0, scale), 0.999955, 5e-7);
  }
}

TEST(Reference, MapsHeadsInGroups) {  // P5, R38
  const auto heads = [](std::int64_t h, std::int64_t hkv, HeadMap map) {
    Problem p(with(shaped(1, h, hkv, 1, 3, 4), [](Case& c) { c.inputs = Inputs::kv_head; }));
    return p.first_column(reference({.value = p.c, .head_map = map, .text = {}}, p.operands, p.all_rows()));
  };
  EXPECT_THAT(heads(6, 2, HeadMap::grouped), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(heads(6, 3, HeadMap::grouped), ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(heads(4, 4, HeadMap::grouped), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(heads(4, 1, HeadMap::grouped), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(heads(6, 2, HeadMap::modulo), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(heads(6, 3, HeadMap::divided_by_kv), ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(Reference, BiasesByDistanceFromTheDiagonal) {  // P6
  const auto row = [](double slope) { return column_of(with(causal(1, 4, Alignment::bottom_right), [&](Case& c) { c.alibi = std::vector{slope}; }))[0]; };
  EXPECT_NEAR(row(0.5), 2.08458, 5e-6);
  EXPECT_NEAR(row(0.25), 1.80710, 5e-6);
  Problem p(with(shaped(1, 6, 6, 4, 4, 4), [](Case& c) { c.alibi.emplace(); }));
  EXPECT_THAT(resolved_slopes(p.c), ElementsAre(1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256, 1.0 / 2, 1.0 / 8));
}

TEST(Reference, BiasesByTheKeysPlaceForAReadingThatSaysSo) {
  Problem p(with(probe(1, 4, Inputs::visibility), [](Case& c) { c.alignment = Alignment::top_left, c.alibi = std::vector{0.5}; }));
  EXPECT_NEAR(p.first_column()[0], 3 - 2.08458, 5e-6);
  Reading reading = p.right();
  reading.alibi_by_key = true;
  EXPECT_NEAR(p.first_column(reference(reading, p.operands, p.all_rows()))[0], 2.08458, 5e-6);
}

// In memory key 0 of both heads lies before key 1 of both.
TEST(Reference, IgnoresStridesOfKeysForAReadingThatSaysSo) {
  Problem p(with(shaped(1, 2, 2, 1, 2, 4), [](Case& c) { c.layout = Layout::bshd, c.inputs = Inputs::visibility; }));
  EXPECT_THAT(p.first_column(), ElementsAre(0.5, 0.5));
  Reading reading = p.right();
  reading.kv_strides_ignored = true;
  EXPECT_THAT(p.first_column(reference(reading, p.operands, p.all_rows())), ElementsAre(0, 1));
}

TEST(Reference, FollowsTheDeadRowsPolicyWithoutTouchingOtherRows) {  // P7, R24
  for (const DeadRows policy : {DeadRows::zero, DeadRows::nan, DeadRows::mean}) {
    Problem p(with(shaped(1, 2, 2, 6, 10, 8), [&](Case& c) {
      c.scale = 0.125;
      c.mask = MaskKind::tensor;
      c.mask_tensor.pattern = MaskPattern::all_true;
      c.dead_rows = policy;
    }));
    auto* const last = static_cast<std::uint8_t*>(p.operands.mask.data) + 5 * 10;
    std::fill_n(last, 10, std::uint8_t{0});
    const Evaluation rows = p.right_rows();
    for (std::size_t row = 0; row < 12; ++row) {
      const bool dead = row % 6 == 5;
      EXPECT_EQ(rows.visible[row], dead ? 0 : 10);
      EXPECT_EQ(std::isinf(rows.lse[row]), dead);
      for (std::size_t x = 0; x < 8; ++x) {
        const double value = rows.out[row * 8 + x];
        double mean = 0;
        for (std::int64_t j = 0; j < 10; ++j) mean += p.operands.v.load(0, static_cast<std::int64_t>(row / 6), j, static_cast<std::int64_t>(x)) / 10.0;
        if (!dead) {
          EXPECT_TRUE(std::isfinite(value));
        } else if (policy == DeadRows::zero) {
          EXPECT_EQ(value, 0.0);
        } else if (policy == DeadRows::nan) {
          EXPECT_TRUE(std::isnan(value));
        } else {
          EXPECT_NEAR(value, mean, 1e-12);
        }
      }
    }
  }
}

TEST(Reference, TakesTheMeanOfADeadRowOverTheValidKeysOfItsSequence) {
  Problem p(with(causal(4, 6, Alignment::bottom_right), [](Case& c) {
    c.lengths_kv = {2};
    c.dead_rows = DeadRows::mean;
  }));
  EXPECT_THAT(p.first_column(), ElementsAre(0.5, 0.5, 0, 0.5));
  p.c.lengths_kv = {0};
  EXPECT_THAT(p.first_column(), ElementsAre(0, 0, 0, 0));
}

TEST(Reference, NeverReadsAHiddenKeysValue) {
  Problem p(with(shaped(1, 1, 1, 2, 3, 4), [](Case& c) {
    c.mask = MaskKind::tensor;
    c.mask_tensor.pattern = MaskPattern::all_true;
  }));
  static_cast<std::uint8_t*>(p.operands.mask.data)[1] = 0;  // row 0, key 1
  for (std::int64_t x = 0; x < 4; ++x) p.operands.v.store(0, 0, 1, x, std::numeric_limits<float>::quiet_NaN());
  const std::vector<double> column = p.first_column();
  EXPECT_TRUE(std::isfinite(column[0]));
  EXPECT_TRUE(std::isnan(column[1]));
}

TEST(Reference, GivesTheReportedRowsOfR46) {
  Problem p(with(causal(3, 3, Alignment::top_left), [](Case& c) {
    c.inputs = Inputs::ramp;
    c.head_dim = c.head_dim_v = 2;
  }));
  EXPECT_THAT(p.right_rows().out, Pointwise(DoubleNear(5e-4), {1.0, 2.0, 2.049, 3.049, 3.207, 4.207}));
  p.c.scale = 0;
  EXPECT_THAT(p.right_rows().out, Pointwise(DoubleNear(1e-12), {1, 2, 2, 3, 3, 4}));
}

// R41: empty sequences give zeros, others are unaffected.
TEST(Reference, GivesZerosForEmptySequencesAndNeverReadsPadding) {
  for (const auto& [q, kv] : {std::pair{std::vector<std::int64_t>{0, 1, 0, 2}, std::vector<std::int64_t>{0, 3, 0, 5}}, {{0, 0, 0, 0}, {0, 0, 0, 0}},
                              {{5, 0, 5, 0}, {5, 0, 0, 5}}}) {
    Problem p(with(shaped(4, 9, 3, 5, 5, 16), [&](Case& c) {
      c.inputs = Inputs::poison_padding;
      c.lengths_q = q;
      c.lengths_kv = kv;
    }));
    const std::vector<OutputRow> rows = p.all_rows();
    const Evaluation found = p.right_rows();
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t x = 0; x < 16; ++x) {
        const double value = found.out[i * 16 + x];
        if (kv[static_cast<std::size_t>(rows[i].batch)] == 0) ASSERT_EQ(value, 0);
        else ASSERT_TRUE(std::isfinite(value) && value != 0);
      }
  }
}

// Every argument at once, against the formula written down plainly.
TEST(Reference, AgreesWithAPlainEvaluationOfTheFormula) {
  Problem p(with(shaped(2, 4, 2, 37, 53, 20), [](Case& c) {
    c.head_dim_v = 12;
    c.scale = 0.3;
    c.softcap = 5;
    c.alibi.emplace();
    c.alignment = Alignment::bottom_right;
    c.window_left = 30;
    c.window_right = 4;
    c.lengths_q = {37, 20};
    c.lengths_kv = {40, 53};
    c.mask = MaskKind::tensor;
    c.mask_tensor = {.pattern = MaskPattern::random, .full = {true, false, true, true}, .dtype = MaskDType::dtype, .fill = MaskFill::minus_infinity};
  }));
  const std::vector<OutputRow> rows = p.all_rows();
  ASSERT_EQ(rows.size(), 4u * (37 + 20));
  const Evaluation found = p.right_rows();
  const std::vector<double> slopes = default_slopes(4);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [b, h, row] = rows[i];
    const std::int64_t offset = keys_of(p.c, b) - rows_of(p.c, b);
    double sum = 0;
    std::vector<double> out(12, 0.0);
    for (std::int64_t j = 0; j < keys_of(p.c, b); ++j) {
      if (j < row + offset - 30 || j > row + offset + 4) continue;
      double score = 0;
      for (std::int64_t x = 0; x < 20; ++x) score += static_cast<double>(p.operands.q.load(b, h, row, x)) * p.operands.k.load(b, h / 2, j, x);
      score = 5 * std::tanh(score * 0.3 / 5) - slopes[static_cast<std::size_t>(h)] * static_cast<double>(std::abs(row + offset - j));
      const double weight = std::exp(score + p.operands.mask.load(b, 0, row, j));
      sum += weight;
      for (std::int64_t x = 0; x < 12; ++x) out[static_cast<std::size_t>(x)] += weight * p.operands.v.load(b, h / 2, j, x);
    }
    if (sum == 0) continue;
    EXPECT_NEAR(found.lse[i], std::log(sum), 1e-12);
    for (std::size_t x = 0; x < 12; ++x) ASSERT_NEAR(found.out[i * 12 + x], out[x] / sum, 1e-12) << b << " " << h << " " << row;
  }
}

TEST(Reference, DoesNotDependOnStridesOrOnWhichRowsAreAsked) {
  Problem p(with(shaped(2, 4, 2, 33, 29, 16, DType::bf16), [](Case& c) { c.mask = MaskKind::causal, c.alignment = Alignment::top_left; }));
  const Evaluation all = p.right_rows();
  TensorView transposed = p.view(ATTN_BF16, {2, 29, 2, 16});  // (batch, seq, heads, head_dim)
  std::swap(transposed.shape[1], transposed.shape[2]);
  std::swap(transposed.strides[1], transposed.strides[2]);
  p.operands.k = transposed;
  p.fill(1);
  std::vector<OutputRow> some;
  std::vector<double> want;
  const std::vector<OutputRow> rows = p.all_rows();
  for (std::size_t i = 0; i < rows.size(); i += 7) {
    some.push_back(rows[i]);
    want.insert(want.end(), all.out.begin() + static_cast<std::ptrdiff_t>(i * 16), all.out.begin() + static_cast<std::ptrdiff_t>(i * 16 + 16));
  }
  EXPECT_EQ(reference(p.right(), p.operands, some).out, want);
}

// An additive mask of finite minima: the scores vanish beside it, so the row is the mean of V, by arithmetic alone.
TEST(Reference, TakesAFiniteFillAsTheNumberItIs) {
  Problem p(with(shaped(1, 1, 1, 3, 8, 4), [](Case& c) {
    c.inputs = Inputs::visibility;
    c.mask = MaskKind::tensor;
    c.mask_tensor = {.pattern = MaskPattern::rows_dead, .dtype = MaskDType::dtype, .fill = MaskFill::minimum};
  }));
  EXPECT_NEAR(p.first_column().back(), 3.5, 1e-12);
}

// R30: index arithmetic that wraps in 32 bits. The mask's rows lie so far apart that row 512 begins at 2^31 elements, and row 1024 at 2^32, where an unsigned index
// is that of row 0 again. Only touched pages are real.
TEST(Reference, IndexesAMaskBeyondTwoToThe32) {
  Problem p(with(shaped(1, 1, 1, 1100, 4, 4), [](Case& c) {
    c.inputs = Inputs::visibility;
    c.mask = MaskKind::tensor;
    c.mask_tensor.pattern = MaskPattern::causal;
  }));
  constexpr std::int64_t kStride = std::int64_t{1} << 22;
  constexpr std::size_t kBytes = 1100 * kStride;
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "4.6 GB of address space are not to be had";
  const std::unique_ptr<void, void (*)(void*)> owner(memory, [](void* data) { munmap(data, kBytes); });
  madvise(memory, kBytes, MADV_NOHUGEPAGE);
  p.operands.mask.data = memory;
  p.operands.mask.strides[2] = kStride;
  p.fill(1);
  const std::vector<double> column = p.first_column();
  EXPECT_THAT(std::vector(column.begin(), column.begin() + 4), ElementsAre(0, 0.5, 1, 1.5));
  EXPECT_THAT(std::vector(column.begin() + 4, column.end()), testing::Each(1.5));
}

TEST(Naive, ErrsMoreThanTheReferenceAndLessThanItsDtypeAllows) {
  for (const auto& [dtype, low, high] : {std::tuple{DType::fp32, 1e-9, 1e-5}, {DType::fp16, 1e-5, 1e-2}, {DType::bf16, 1e-4, 1e-1}, {DType::fp8_e4m3, 1e-3, 0.5}}) {
    Problem p(shaped(1, 2, 2, 64, 64, 64, dtype));
    const Evaluation right = p.right_rows(), naive_rows = naive(p.right(), p.operands, p.all_rows());
    double largest = 0;
    for (std::size_t i = 0; i < right.out.size(); ++i) largest = std::max(largest, std::fabs(right.out[i] - naive_rows.out[i]));
    EXPECT_GT(largest, low) << word(dtype);
    EXPECT_LT(largest, high) << word(dtype);
  }
}

// Scores beyond 65504 would be infinite in fp16, the naive answer NaN, and its error would excuse everything.
TEST(Naive, StaysFiniteWhereFp16ScoresOverflow) {
  Problem p(with(shaped(1, 1, 1, 8, 8, 64, DType::fp16), [](Case& c) { c.inputs = Inputs::ramp; }));
  for (std::int64_t s = 0; s < 8; ++s)
    for (std::int64_t d = 0; d < 64; ++d) p.operands.q.store(0, 0, s, d, 2000.0f);
  for (const double value : naive(p.right(), p.operands, p.all_rows()).out) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace attn
