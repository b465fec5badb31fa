#include "engine/numerics.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "engine/comparison.hpp"
#include "engine/tensors.hpp"
#include "problem.hpp"

namespace attn {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr DType kDTypes[] = {DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3, DType::fp8_e5m2};
const float kNan = std::numeric_limits<float>::quiet_NaN();

double rounded(DType dtype, double value) {
  std::uint32_t bits = 0;
  store_element(&bits, 0, static_cast<std::int32_t>(dtype), static_cast<float>(value));
  return load_element(&bits, 0, static_cast<std::int32_t>(dtype));
}

// Attention as fused kernels do it: blocks of 32 keys from the last to the first, a running maximum, exp2, weights rounded before they meet v, sums in
// float. It shares no line with the reference or the naive evaluation.
Evaluation fused(const Problem& p) {
  const Case& c = p.c;
  const std::vector<OutputRow> rows = p.all_rows();
  Evaluation result = p.right_rows();
  const auto factor = static_cast<float>(resolved_scale(c) * std::numbers::log2e);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [b, h, row] = rows[i];
    const std::int64_t kv = h / (c.heads / c.heads_kv);
    const KeyRange keys = visible_keys(c, b, row);
    if (keys.size() == 0) continue;
    float largest = -std::numeric_limits<float>::infinity(), sum = 0;
    std::vector<float> out(static_cast<std::size_t>(c.head_dim_v), 0.0f);
    for (std::int64_t end = keys.end; end > keys.first; end -= 32) {
      const std::int64_t first = std::max(keys.first, end - 32);
      std::vector<float> scores;
      for (std::int64_t j = first; j < end; ++j) {
        float lanes[4]{};
        for (std::int64_t x = 0; x < c.head_dim; ++x) lanes[x % 4] += p.operands.q.load(b, h, row, x) * p.operands.k.load(b, kv, j, x);
        scores.push_back((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
      }
      const float before = largest;
      for (const float score : scores) largest = std::max(largest, score);
      const float rescale = std::exp2((before - largest) * factor);
      sum *= rescale;
      for (float& each : out) each *= rescale;
      for (std::int64_t j = first; j < end; ++j) {
        const float weight = std::exp2((scores[static_cast<std::size_t>(j - first)] - largest) * factor);
        sum += weight;
        for (std::int64_t x = 0; x < c.head_dim_v; ++x)
          out[static_cast<std::size_t>(x)] += static_cast<float>(rounded(c.dtype, weight)) * p.operands.v.load(b, kv, j, x);
      }
    }
    for (std::size_t x = 0; x < out.size(); ++x) result.out[i * out.size() + x] = out[x] / sum;
  }
  return result;
}

std::vector<Case> many_shapes() {
  const auto causal = [](Case& c) { c.mask = MaskKind::causal; };
  const auto window = [](Case& c) { c.mask = MaskKind::causal, c.window_left = 7; };
  const auto ragged = [](Case& c) { c.lengths_kv = {31, 50}, c.lengths_q = {1, 40}; };
  const auto skewed = [](Case& c) { c.inputs = Inputs::skewed; };
  const auto negative = [](Case& c) { c.inputs = Inputs::negative_logits; };
  return {shaped(1, 1, 1, 1, 1, 8),      shaped(1, 1, 1, 3, 3, 2),          shaped(1, 1, 1, 1, 16, 64),           shaped(2, 4, 2, 65, 65, 64),
          shaped(1, 4, 1, 17, 300, 128), with(shaped(1, 1, 1, 3, 3, 2), causal), with(shaped(1, 2, 2, 129, 129, 64), causal), with(shaped(1, 2, 1, 100, 100, 32), window),
          with(shaped(2, 2, 1, 40, 50, 24), ragged), with(shaped(1, 2, 1, 64, 64, 64), skewed), with(shaped(1, 2, 1, 64, 64, 64), negative),
          with(shaped(1, 2, 1, 1, 700, 64), [](Case&) {}), with(shaped(1, 1, 1, 400, 400, 16), causal)};
}

TEST(Numerics, RightAnswersPassInEveryDtypeAndShape) {
  for (const Case& shape : many_shapes())
    for (const DType dtype : kDTypes)
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        Case c = shape;
        c.dtype = c.dtype_kv = dtype;
        Problem p(c, seed);
        NumericsResult result = p.check(p.right_rows());
        EXPECT_EQ(result.status, Status::ok) << "reference " << case_id(c) << ": " << result.reason;
        result = p.check(naive(p.right(), p.operands, p.all_rows()));
        EXPECT_EQ(result.status, Status::ok) << "naive " << case_id(c) << ": " << result.reason;
        result = p.check(fused(p));
        EXPECT_EQ(result.status, Status::ok) << "fused " << case_id(c) << ": " << result.reason;
        EXPECT_EQ(result.numerics.rows_checked, static_cast<std::int64_t>(p.all_rows().size()));
        EXPECT_LE(*result.numerics.max_abs_error, *result.numerics.max_budget);
        EXPECT_LE(*result.numerics.mean_abs_error, *result.numerics.mean_budget);
      }
}

// Each feature in a case where it matters.
std::vector<Case> featured_cases(DType dtype) {
  const auto base = [&](const std::function<void(Case&)>& change) { return with(shaped(2, 6, 2, 40, 40, 24, dtype), change); };
  return {
      base([](Case& c) { c.mask = MaskKind::causal; }),
      base([](Case& c) { c.mask = MaskKind::causal, c.window_left = 9, c.scale = 0.5; }),
      base([](Case& c) { c.window_left = 5, c.window_right = 3; }),
      base([](Case& c) { c.mask = MaskKind::causal, c.window_left = 5, c.window_right = 3; }),
      base([](Case& c) { c.softcap = 1.5, c.scale = 0.7; }),
      base([](Case& c) { c.seq_q = 25, c.mask = MaskKind::causal, c.alignment = Alignment::bottom_right; }),
      base([](Case& c) { c.seq_q = 25, c.mask = MaskKind::causal, c.alignment = Alignment::top_left, c.alibi.emplace(); }),
      base([](Case& c) { c.mask = MaskKind::causal, c.alibi = {0.5, 0.4, 0.3, 0.2, 0.1, 0.7}; }),
      base([](Case& c) { c.seq_q = 25, c.alignment = Alignment::bottom_right, c.alibi.emplace(); }),
      base([](Case& c) { c.mask = MaskKind::tensor, c.mask_tensor.pattern = MaskPattern::random, c.dead_rows = DeadRows::mean; }),
      base([](Case& c) {
        c.mask = MaskKind::tensor;
        c.mask_tensor.pattern = MaskPattern::rows_dead;
        c.mask_tensor.dtype = MaskDType::dtype;
        c.dead_rows = DeadRows::nan;
      }),
      base([](Case& c) { c.lengths_kv = {40, 23}, c.lengths_q = {40, 30}; }),
      base([](Case& c) { c.mask = MaskKind::causal, c.seq_q = 25, c.alignment = Alignment::bottom_right, c.lengths_kv = {40, 23}, c.lengths_q = {25, 20}; }),
      base([](Case& c) { c.head_dim_v = 16, c.heads_kv = 3; }),
      base([](Case& c) { c.layout = Layout::sbhd; }),
      base([](Case& c) { c.strides.v = StrideKind::transposed; }),
      base([](Case& c) { c.layout = Layout::thd, c.lengths_q = {20, 40}, c.lengths_kv = {31, 40}; }),
      base([](Case& c) { c.lengths_kv = {40, 23}, c.page_size = 8, c.page_order = PageOrder::shuffled; }),
      base([](Case& c) { c.layout = Layout::thd, c.lengths_q = {20, 40}, c.lengths_kv = {40, 23}, c.page_size = 5, c.page_order = PageOrder::shuffled; }),
  };
}

// "Argument ignored" references give the diagnosis (R36): each is answered as if a backend had read the case so, in every dtype that can tell.
TEST(Numerics, NamesWhatTheBackendGotWrong) {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16})
    for (const Case& c : featured_cases(dtype)) {
      Problem p(c);
      const std::vector<OutputRow> rows = p.all_rows();
      const Evaluation right = p.right_rows();
      for (const Reading& reading : misreadings(c)) {
        if (reading.head_map == HeadMap::divided_by_kv) continue;  // has its own test
        const Evaluation mistaken = reference(reading, p.operands, rows);
        bool same = true;  // a misreading may have no effect here, or one that the precision hides
        for (std::size_t i = 0; i < right.out.size(); ++i)
          same = same && (std::isnan(right.out[i]) ? std::isnan(mistaken.out[i]) : std::fabs(right.out[i] - mistaken.out[i]) < 0.1);
        if (same) continue;
        const NumericsResult result = p.check(mistaken);
        EXPECT_EQ(result.status, Status::wrong) << case_id(c) << ": " << reading.text;
        EXPECT_EQ(result.numerics.diagnosis, "equals the reference with " + reading.text) << case_id(c);
        EXPECT_THAT(result.reason, StartsWith("equals the reference with " + reading.text + "; "));
        const NumericsResult naive_result = p.check(naive(reading, p.operands, rows));
        EXPECT_EQ(naive_result.numerics.diagnosis, result.numerics.diagnosis) << case_id(c);
      }
    }
}

TEST(Numerics, NamesTheProbesTypicalWrongAnswers) {
  const auto diagnosis = [](Case c, const std::vector<double>& column) {
    Problem p(c);
    Evaluation rows = p.right_rows();
    for (std::size_t i = 0; i < column.size(); ++i) std::fill_n(rows.out.begin() + static_cast<std::ptrdiff_t>(i * 4), 4, column[i]);
    return p.check(rows).numerics.diagnosis;
  };
  const auto probe = [](std::int64_t seq_q, std::int64_t seq_kv, Inputs inputs, const std::function<void(Case&)>& change) {
    return with(with(shaped(1, 1, 1, seq_q, seq_kv, 4), [&](Case& c) { c.inputs = inputs; }), change);
  };
  const auto causal = [](Alignment alignment) { return [=](Case& c) { c.mask = MaskKind::causal, c.alignment = alignment; }; };
  EXPECT_EQ(diagnosis(probe(2, 4, Inputs::visibility, causal(Alignment::bottom_right)), {0, 0.5}), "equals the reference with the other alignment (top_left)");
  EXPECT_EQ(diagnosis(probe(4, 2, Inputs::visibility, causal(Alignment::top_left)), {0, 0, 0, 0.5}),
            "equals the reference with the other alignment (bottom_right)");
  EXPECT_EQ(diagnosis(probe(6, 6, Inputs::visibility, [](Case& c) { c.mask = MaskKind::causal, c.window_left = 2; }), {0, 0.5, 1, 1.5, 2.5, 3.5}),
            "equals the reference with the window one key too wide");
  EXPECT_EQ(diagnosis(probe(1, 2, Inputs::scale_probe, [](Case& c) { c.scale = 1; }), {1.7573594}), "equals the reference with scale ignored");
  EXPECT_EQ(diagnosis(probe(1, 2, Inputs::scale_probe, [](Case& c) { c.scale = 1; }), {1.5}), "equals the reference with scale 0 (all keys alike)");
  EXPECT_EQ(diagnosis(probe(1, 2, Inputs::softcap_probe, [](Case& c) { c.softcap = 2; }), {0.9999546}), "equals the reference with softcap ignored");
  const auto heads = [](Case& c) { c.heads = 6, c.heads_kv = 2; };
  EXPECT_EQ(diagnosis(probe(1, 3, Inputs::kv_head, heads), {0, 1, 0, 1, 0, 1}), "equals the reference with KV heads mapped by modulo");
  EXPECT_EQ(diagnosis(probe(1, 3, Inputs::kv_head, heads), {0, 0, 1, 1, 7, 7}), "equals the reference with KV heads mapped by h / heads_kv");
  // R15: the scale of a padded head_dim.
  Problem padded(shaped(1, 2, 2, 20, 20, 60));
  Case misread = padded.c;
  misread.scale = 0.125;
  EXPECT_EQ(padded.check(reference({.value = misread, .text = {}}, padded.operands, padded.all_rows())).numerics.diagnosis,
            "equals the reference with the scale of head_dim padded to 64");
}

TEST(Numerics, OffByOneIsWrongInEveryDtype) {
  for (const DType dtype : kDTypes)
    for (const std::int64_t seq : {16, 100, 300}) {
      const auto wrong = [&](const std::function<void(Case&)>& right, const std::function<void(Case&)>& mistaken) {
        Problem p(with(shaped(1, 2, 1, seq, seq, 32, dtype), right));
        const Reading reading{.value = with(p.c, mistaken), .text = {}};
        return p.check(naive(reading, p.operands, p.all_rows())).status == Status::wrong;
      };
      const auto causal = [](Case& c) { c.mask = MaskKind::causal; };
      const auto window = [](Case& c) { c.mask = MaskKind::causal, c.window_left = 4; };
      EXPECT_TRUE(wrong(window, [](Case& c) { c.window_left = 5; })) << word(dtype) << " " << seq;
      EXPECT_TRUE(wrong(window, [](Case& c) { c.window_left = 3; })) << word(dtype) << " " << seq;
      EXPECT_TRUE(wrong(causal, [](Case& c) { c.mask = MaskKind::none, c.window_right = 1; })) << word(dtype) << " " << seq;
    }
}

TEST(Numerics, KnowsHowRowsAndPagesAreMisread) {
  const auto texts = [](const std::function<void(Case&)>& change) {
    std::vector<std::string> result;
    for (const Reading& reading : misreadings(with(shaped(2, 1, 1, 40, 40, 8), change)))
      if (!reading.key_places.empty()) result.push_back(reading.text);
    return result;
  };
  EXPECT_THAT(texts([](Case& c) { c.layout = Layout::thd, c.lengths_q = {20, 40}, c.lengths_kv = {31, 40}; }),
              testing::ElementsAre("the starts of the keys ignored", "the starts of the queries taken for the keys'", "lengths ignored"));
  EXPECT_THAT(texts([](Case& c) { c.layout = Layout::thd, c.lengths_q = {40, 40}, c.lengths_kv = {31, 40}; }),
              testing::ElementsAre("the starts of the keys ignored", "lengths ignored"))
      << "keys past the last token are not there to be read";
  EXPECT_THAT(texts([](Case& c) { c.lengths_kv = {40, 23}, c.page_size = 8, c.page_order = PageOrder::shuffled; }),
              testing::ElementsAre("the page order ignored", "the first sequence's pages for all"));
  EXPECT_THAT(texts([](Case& c) { c.lengths_kv = {23, 40}, c.page_size = 8; }), testing::IsEmpty());
}

// Where what is read instead is there, and is no gap.
TEST(Numerics, KnowsWhenStridesMayBeIgnored) {
  const auto named = [](const std::function<void(Case&)>& change) {
    const std::vector<Reading> readings = misreadings(with(shaped(2, 4, 2, 40, 40, 8), change));
    return std::any_of(readings.begin(), readings.end(), [](const Reading& reading) { return reading.kv_strides_ignored; });
  };
  for (const Layout layout : {Layout::bshd, Layout::sbhd, Layout::packed_qkv}) EXPECT_TRUE(named([&](Case& c) { c.layout = layout; })) << word(layout);
  EXPECT_TRUE(named([](Case& c) { c.strides.k = StrideKind::transposed; }));
  EXPECT_FALSE(named([](Case&) {})) << "nothing is ignored";
  EXPECT_FALSE(named([](Case& c) { c.strides.q = c.strides.o = StrideKind::transposed; }));
  EXPECT_FALSE(named([](Case& c) { c.strides.k = StrideKind::transposed, c.strides.v = StrideKind::sliced; }));
  EXPECT_FALSE(named([](Case& c) { c.strides.k = StrideKind::transposed, c.strides.v = StrideKind::expanded; }));
  EXPECT_FALSE(named([](Case& c) { c.layout = Layout::thd, c.lengths_q = c.lengths_kv = {40, 40}; }));
  EXPECT_FALSE(named([](Case& c) { c.layout = Layout::bshd, c.lengths_kv = {40, 40}, c.page_size = 8; }));
}

TEST(Numerics, NamesTheDTypeOfKeysIgnored) {
  const auto check = [](DType dtype, DType dtype_kv) {
    Problem p(with(shaped(1, 4, 2, 9, 20, 16, dtype), [&](Case& c) { c.dtype_kv = dtype_kv; }));
    Reading reading = p.right();
    reading.kv_dtype_ignored = true;
    return p.check(reference(reading, p.operands, p.all_rows())).reason;
  };
  EXPECT_THAT(check(DType::bf16, DType::fp16), StartsWith("equals the reference with the dtype of k and v ignored; "));
  EXPECT_THAT(check(DType::fp16, DType::bf16), StartsWith("equals the reference with the dtype of k and v ignored; "));
  for (const auto& [dtype, dtype_kv] : {std::pair(DType::fp32, DType::fp16), {DType::bf16, DType::bf16}})
    for (const Reading& reading : misreadings(with(shaped(1, 4, 2, 9, 20, 16, dtype), [&](Case& c) { c.dtype_kv = dtype_kv; })))
      EXPECT_FALSE(reading.kv_dtype_ignored) << "one would read past the end of the other, or it is the same";
}

TEST(Numerics, NamesKeysAndValuesSwapped) {
  Problem p(with(shaped(2, 4, 2, 9, 20, 16), [](Case& c) { c.mask = MaskKind::causal, c.strides.k = StrideKind::transposed; }));
  Reading reading = p.right();
  reading.kv_swapped = true;
  EXPECT_THAT(p.check(reference(reading, p.operands, p.all_rows())).reason, StartsWith("equals the reference with k and v swapped; "));
  for (const Reading& other : misreadings(with(p.c, [](Case& c) { c.head_dim_v = 8; }))) EXPECT_FALSE(other.kv_swapped) << "neither fits the other's place";
}

// P6's note: softmax does not see a constant.
TEST(Numerics, AConstantShiftOfAlibiIsNoError) {
  Problem p(with(shaped(1, 4, 4, 32, 32, 16, DType::bf16), [](Case& c) { c.mask = MaskKind::causal, c.alibi.emplace(); }));
  const std::vector<OutputRow> rows = p.all_rows();
  // -slope * (row - key) and +slope * key differ by a constant of the row; the mask tensor carries the second.
  Case shifted = p.c;
  shifted.alibi.reset();
  shifted.mask = MaskKind::tensor;
  shifted.mask_tensor = {.pattern = MaskPattern::causal, .full = {false, true, true, true}, .dtype = MaskDType::dtype};
  Operands operands = p.operands;
  operands.mask = p.view(ATTN_FP32, {1, 4, 32, 32});
  for (std::int64_t h = 0; h < 4; ++h)
    for (std::int64_t i = 0; i < 32; ++i)
      for (std::int64_t j = 0; j < 32; ++j)
        operands.mask.store(0, h, i, j, j > i ? -std::numeric_limits<float>::infinity() : static_cast<float>(default_slopes(4)[static_cast<std::size_t>(h)] * static_cast<double>(j)));
  EXPECT_EQ(p.check(reference({.value = shifted, .text = {}}, operands, rows)).status, Status::ok);
}

TEST(Numerics, FindsWhatWasNeverWritten) {
  for (const DType dtype : kDTypes) {
    Problem p(shaped(1, 2, 2, 5, 5, 8, dtype));
    p.poison = poison_bits(static_cast<std::int32_t>(dtype));
    p.write(p.right_rows());
    EXPECT_EQ(p.check().status, Status::ok);
    const auto size = static_cast<std::int64_t>(element_bytes(static_cast<std::int32_t>(dtype)));
    std::memcpy(static_cast<char*>(p.output.data) + p.output.offset(0, 1, 3, 2) * size, &*p.poison, static_cast<std::size_t>(size));
    const NumericsResult result = p.check();
    EXPECT_EQ(result.status, Status::wrong);
    EXPECT_THAT(result.reason, HasSubstr("1 element never written, first (batch 0, head 1, row 3, column 2)"));
  }
}

// A row outside the sample is still seen by the whole-tensor check.
TEST(Numerics, FindsANanOutsideTheSample) {
  Problem p(shaped(4, 8, 8, 256, 256, 16));
  CheckInput input = p.check_input();
  input.limits.flops = 1e6;
  p.write(p.right_rows());
  const std::vector<OutputRow> sampled = sample_rows(p.c, {}, 0, input.limits);
  ASSERT_EQ(std::find(sampled.begin(), sampled.end(), OutputRow{2, 5, 77}), sampled.end());
  EXPECT_EQ(check_output(input).status, Status::ok);
  p.output.store(2, 5, 77, 3, -std::numeric_limits<float>::infinity());
  const NumericsResult result = check_output(input);
  EXPECT_EQ(result.status, Status::wrong);
  EXPECT_EQ(result.reason, "1 element not finite, first (batch 2, head 5, row 77, column 3): -inf");
}

// Only dead rows may be NaN under the policy nan; outside the sample the whole-tensor check alone can tell. It names the first of several.
TEST(Numerics, FindsANanInALivingRowUnderThePolicyNan) {
  Problem p(with(shaped(2, 4, 4, 256, 128, 16), [](Case& c) {
    c.mask = MaskKind::causal;
    c.alignment = Alignment::bottom_right;
    c.dead_rows = DeadRows::nan;
  }));
  CheckInput input = p.check_input();
  input.limits.flops = 1e5;
  p.write(p.right_rows());
  ASSERT_EQ(check_output(input).status, Status::ok);
  const std::vector<OutputRow> sampled = sample_rows(p.c, {}, 0, input.limits);
  for (const OutputRow& row : {OutputRow{0, 2, 220}, OutputRow{1, 1, 219}}) {
    ASSERT_EQ(std::find(sampled.begin(), sampled.end(), row), sampled.end());
    p.output.store(row.batch, row.head, row.row, 3, kNan);
  }
  EXPECT_EQ(check_output(input).reason, "2 elements not finite, first (batch 0, head 2, row 220, column 3): nan");
}

TEST(Numerics, TellsWhereTheErrorIs) {
  Problem p(shaped(2, 4, 4, 64, 64, 16));
  p.write(p.right_rows());
  for (std::int64_t s = 60; s < 64; ++s)
    for (std::int64_t d = 0; d < 16; ++d) p.output.store(1, 2, s, d, 0.25f);
  p.output.store(1, 2, 62, 5, 17.5f);
  const NumericsResult result = p.check();
  EXPECT_EQ(result.status, Status::wrong);
  EXPECT_EQ(result.numerics.diagnosis, "");
  EXPECT_THAT(result.reason, StartsWith("worst at (batch 1, head 2, row 62, column 5): found 17.5, expected "));
  EXPECT_THAT(result.reason, HasSubstr("4 of 512 checked rows are off, only batch 1, only head 2, only from row 60 on"));
}

// R30: late rows of a causal case hold small values; garbage of that size must not hide behind the early rows' errors.
TEST(Numerics, SmallErrorsInLateRowsOfACausalCaseAreWrong) {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    Problem p(with(shaped(1, 1, 1, 1024, 1024, 32, dtype), [](Case& c) { c.mask = MaskKind::causal; }));
    Evaluation rows = p.right_rows();
    std::swap_ranges(rows.out.begin() + 1022 * 32, rows.out.begin() + 1023 * 32, rows.out.begin() + 530 * 32);
    EXPECT_EQ(p.check(rows).status, Status::wrong) << word(dtype);
  }
}

// The weights 1/n of a uniform row round alike, so its error exceeds its noise; rows of few keys must not inherit that.
TEST(Numerics, RowsOfFewKeysAreNotExcusedByRowsOfMany) {
  Problem p(with(shaped(1, 1, 1, 1500, 1500, 8, DType::bf16), [](Case& c) {
    c.mask = MaskKind::causal;
    c.inputs = Inputs::visibility;
  }));
  Evaluation rows = p.right_rows();
  EXPECT_EQ(p.check(rows).status, Status::ok);
  rows.out[8] = 0.53;  // row 1, right is 0.5
  EXPECT_EQ(p.check(rows).status, Status::wrong);
}

// In fp16 a row of -65504 + s holds nothing of s, the naive answer is the mean of v. Right is anything from there to softmax(s) v, in that row and no other.
TEST(Numerics, RowsThatAFiniteFillHidesAreWideAndExcuseNoOthers) {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    Problem p(with(shaped(1, 1, 1, 100, 32, 16, dtype), [](Case& c) {
      c.mask = MaskKind::tensor;
      c.mask_tensor = {.pattern = MaskPattern::rows_dead, .full = {false, false, true, true}, .dtype = MaskDType::dtype, .fill = MaskFill::minimum};
    }));
    const Evaluation right = p.right_rows(), naive_rows = naive(p.right(), p.operands, p.all_rows());
    EXPECT_EQ(p.check(right).status, Status::ok) << word(dtype);
    EXPECT_EQ(p.check(naive_rows).status, Status::ok) << word(dtype);
    std::size_t alive = 0;
    while (is_buried(right.lse[alive], static_cast<std::int32_t>(dtype))) ++alive;
    EXPECT_TRUE(is_buried(right.lse.back(), static_cast<std::int32_t>(dtype)));
    EXPECT_EQ(right.visible.back(), 32);
    EXPECT_GT(right.visible[alive], 4);
    EXPECT_LT(right.visible[alive], 28);
    Evaluation off = right;
    off.out[alive * 16 + 3] += 0.05;
    EXPECT_EQ(p.check(off).status, Status::wrong) << word(dtype);

    p.write(right);
    CheckInput input = p.check_input();
    const TensorView lse = p.view(ATTN_FP32, {1, 1, 100, 1});
    for (std::size_t i = 0; i < 100; ++i) lse.store(0, 0, static_cast<std::int64_t>(i), 0, static_cast<float>(right.lse[i]));
    input.lse = lse;
    EXPECT_EQ(check_output(input).reason, "") << word(dtype);
    lse.store(0, 0, static_cast<std::int64_t>(alive), 0, static_cast<float>(right.lse[alive] + 0.5));
    EXPECT_THAT(check_output(input).reason, StartsWith("lse of ")) << word(dtype);
  }
}

TEST(Numerics, ASmallErrorInEveryElementIsWrongByTheMean) {
  Problem p(shaped(1, 2, 2, 64, 64, 64));
  Evaluation rows = p.right_rows();
  const NumericsResult right = p.check(rows);
  for (double& value : rows.out) value += 1.2 * *right.numerics.mean_budget;
  const NumericsResult result = p.check(rows);
  EXPECT_EQ(result.status, Status::wrong);
  EXPECT_THAT(result.reason, HasSubstr("no single row is off, but the mean is"));
}

TEST(Numerics, DeadRowsFollowTheirPolicyExactly) {  // R24
  const auto with_policy = [](DeadRows policy) {
    return with(shaped(1, 2, 2, 6, 10, 8), [&](Case& c) {
      c.scale = 0.125;
      c.mask = MaskKind::tensor;
      c.mask_tensor.pattern = MaskPattern::rows_dead;
      c.dead_rows = policy;
    });
  };
  for (const DeadRows declared : {DeadRows::zero, DeadRows::nan, DeadRows::mean})
    for (const DeadRows given : {DeadRows::zero, DeadRows::nan, DeadRows::mean}) {
      Problem p(with_policy(declared));
      p.poison = poison_bits(ATTN_FP32);
      const NumericsResult result = p.check(reference({.value = with_policy(given), .text = {}}, p.operands, p.all_rows()));
      EXPECT_EQ(result.status, declared == given ? Status::ok : Status::wrong) << result.reason;
      EXPECT_EQ(result.numerics.diagnosis,
                declared == given ? "" : fmt::format("equals the reference with dead rows {} instead of {}", word(given), word(declared)));
    }
  for (const DType dtype : kDTypes) {
    Problem zero(with(with_policy(DeadRows::zero), [&](Case& c) { c.dtype = c.dtype_kv = dtype; }));
    Evaluation answer = zero.right_rows();
    answer.out[5 * 8 + 3] = ulp(0, static_cast<std::int32_t>(dtype));
    EXPECT_EQ(zero.check(answer).status, Status::wrong) << word(dtype);
  }
  Problem nan(with_policy(DeadRows::nan));
  Evaluation rows = nan.right_rows();
  rows.out[5 * 8 + 3] = 0;
  EXPECT_EQ(nan.check(rows).status, Status::wrong) << "a dead row must be all NaN";
  rows = nan.right_rows();
  std::size_t alive = 0;
  while (rows.visible[alive] == 0) ++alive;
  rows.out[alive * 8] = kNan;
  EXPECT_EQ(nan.check(rows).status, Status::wrong) << "NaN leaked into another row";
}

TEST(Numerics, RowsPastTheLengthsMayBeZeroOrUntouchedButNotNan) {  // R41
  Problem p(with(shaped(2, 2, 1, 4, 6, 8), [](Case& c) {
    c.inputs = Inputs::poison_padding;
    c.lengths_q = {0, 3};
    c.lengths_kv = {5, 6};
  }));
  p.poison = poison_bits(ATTN_FP32);
  p.write(p.right_rows());
  EXPECT_EQ(p.check().status, Status::ok);
  std::memcpy(static_cast<float*>(p.output.data) + p.output.offset(1, 1, 3, 0), &*p.poison, 4);
  EXPECT_EQ(p.check().status, Status::ok);
  p.output.store(0, 0, 0, 0, kNan);
  const NumericsResult result = p.check();
  EXPECT_EQ(result.status, Status::wrong);
  EXPECT_EQ(result.numerics.diagnosis, "reads the padding past the lengths");
}

TEST(Numerics, NamesPaddingThatIsRead) {
  Problem p(with(shaped(2, 2, 1, 4, 6, 8), [](Case& c) { c.inputs = Inputs::poison_padding, c.lengths_kv = {4, 6}; }));
  Case ignored = p.c;
  ignored.lengths_kv.clear();
  const NumericsResult result = p.check(reference({.value = ignored, .text = {}}, p.operands, p.all_rows()));
  EXPECT_EQ(result.status, Status::wrong);
  EXPECT_EQ(result.numerics.diagnosis, "reads the padding past the lengths");
}

TEST(Numerics, NamesACachedAnswer) {
  Problem p(shaped(1, 2, 2, 16, 16, 16, DType::bf16));
  p.write(p.right_rows());
  p.fill(2);
  CheckInput input = p.check_input();
  input.previous = p.output;
  const NumericsResult result = check_output(input);
  EXPECT_EQ(result.status, Status::wrong);
  EXPECT_EQ(result.numerics.diagnosis, "equals the output of the previous inputs (a cached answer)");
}

TEST(Numerics, JudgesTheLogSumExp) {
  for (const DType dtype : kDTypes) {
    Problem p(with(shaped(1, 2, 2, 6, 10, 8, dtype), [](Case& c) { c.mask = MaskKind::tensor, c.mask_tensor.pattern = MaskPattern::rows_dead; }));
    const Evaluation rows = p.right_rows();
    p.write(rows);
    CheckInput input = p.check_input();
    input.lse = p.view(ATTN_FP32, {1, 2, 6, 1});
    for (std::int64_t i = 0; i < 12; ++i) input.lse.store(0, i / 6, i % 6, 0, static_cast<float>(rows.lse[static_cast<std::size_t>(i)]));
    EXPECT_EQ(check_output(input).status, Status::ok);
    input.lse.store(0, 1, 5, 0, 0.0f);  // a dead row has no keys whose sum could be 1
    EXPECT_EQ(check_output(input).status, Status::wrong);
    input.lse.store(0, 1, 5, 0, std::numeric_limits<float>::infinity());  // some kernels write the other sign
    EXPECT_EQ(check_output(input).status, Status::ok);
    std::int64_t alive = 0;
    while (rows.visible[static_cast<std::size_t>(alive)] < 2) ++alive;
    input.lse.store(0, alive / 6, alive % 6, 0, static_cast<float>(rows.lse[static_cast<std::size_t>(alive)] * std::numbers::log2e + 0.7));
    const NumericsResult result = check_output(input);
    EXPECT_EQ(result.status, Status::wrong) << word(dtype);
    EXPECT_THAT(result.reason, StartsWith(fmt::format("lse of (batch 0, head {}, row {}): found ", alive / 6, alive % 6)));
  }
}

TEST(Numerics, OfTheUlpAreThoseOfTheFormat) {
  EXPECT_EQ(ulp(1.0, ATTN_FP32), 0x1p-23);
  EXPECT_EQ(ulp(-3.9, ATTN_BF16), 0x1p-6);
  EXPECT_EQ(ulp(1.0, ATTN_FP16), 0x1p-10);
  EXPECT_EQ(ulp(1e-9, ATTN_FP16), 0x1p-24);
  EXPECT_EQ(ulp(0, ATTN_FP8_E4M3), 0x1p-9);
  EXPECT_EQ(ulp(448, ATTN_FP8_E4M3), 32);
}

TEST(Numerics, SelfTestFindsNothing) { EXPECT_EQ(reference_self_test().value_or(""), ""); }  // P1 to P7, R43

// R43: an answer whose steps were rounded to bf16 is not an fp32 answer, nor an fp16 one.
TEST(Numerics, AnAnswerOfLowerPrecisionIsWrong) {
  for (const DType dtype : {DType::fp32, DType::fp16}) {
    Problem p(shaped(1, 2, 2, 64, 64, 64, dtype));
    Case coarse = p.c;
    coarse.dtype = DType::bf16;
    EXPECT_EQ(p.check(naive({.value = coarse, .text = {}}, p.operands, p.all_rows())).status, Status::wrong) << word(dtype);
  }
}

}  // namespace
}  // namespace attn
