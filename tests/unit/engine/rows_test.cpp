// Ragged rows and pages through the engine: filled, referenced, judged and copied like their padded twins, and never read where no row is.

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <random>

#include "engine/host_device.hpp"
#include "engine/merge_heads.hpp"
#include "engine/output_scan.hpp"
#include "engine/tensors.hpp"
#include "problem.hpp"

namespace attn {
namespace {

using testing::Each;
using testing::HasSubstr;

Device& host() {
  static HostDevice device;
  return device;
}

// A small case of any features, with lengths.
Case any_case(std::mt19937& random) {
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  Case c;
  c.batch = 1 + below(4);
  c.heads_kv = 1 + below(3);
  c.heads = c.heads_kv * (1 + below(3));
  c.seq_q = 1 + below(30);
  c.seq_kv = 1 + below(60);
  c.head_dim = 1 + below(20);
  c.head_dim_v = 1 + below(20);
  c.dtype = static_cast<DType>(below(5));
  c.dtype_kv = below(4) ? c.dtype : static_cast<DType>(below(5));
  c.mask = static_cast<MaskKind>(below(3));
  c.mask_tensor.pattern = static_cast<MaskPattern>(below(4));
  c.mask_tensor.dtype = static_cast<MaskDType>(below(2));
  for (bool& full : c.mask_tensor.full) full = below(3);
  c.alignment = static_cast<Alignment>(below(2));
  if (below(3) == 0) c.window_left = below(30);
  if (below(4) == 0) c.window_right = below(30);
  if (below(3) == 0) c.softcap = 2;
  if (below(3) == 0) c.alibi.emplace();
  c.dead_rows = static_cast<DeadRows>(below(3));
  for (std::int64_t b = 0; b < c.batch; ++b) {
    c.lengths_q.push_back(below(5) ? below(static_cast<std::uint32_t>(c.seq_q + 1)) : 0);
    c.lengths_kv.push_back(below(5) ? below(static_cast<std::uint32_t>(c.seq_kv + 1)) : 0);
  }
  return c;
}

// Its twins: ragged, paged, ragged queries over pages.
std::vector<Case> twins_of(const Case& c, std::int64_t page_size) {
  const auto ragged = [](Case& twin) { twin.layout = Layout::thd; };
  const auto paged = [&](Case& twin) { twin.page_size = page_size, twin.page_order = PageOrder::shuffled; };
  return {with(c, ragged), with(c, paged), with(with(c, ragged), paged)};
}

// Bit for bit; NaN equals NaN.
void expect_same(const std::vector<double>& a, const std::vector<double>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  ASSERT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0) << what;
}

TEST(Rows, OfTwinsHaveTheSameReferenceBitForBit) {
  std::mt19937 random(7);
  for (int i = 0; i < 150 && !testing::Test::HasFatalFailure(); ++i) {
    const Case c = any_case(random);
    const Problem padded(c, static_cast<std::uint64_t>(i));
    const std::vector<OutputRow> rows = padded.all_rows();
    const Evaluation exact = padded.right_rows(), rounded = naive(padded.right(), padded.operands, rows);
    for (const Case& twin : twins_of(c, 1 + static_cast<std::int64_t>(random() % 20))) {
      const Problem p(twin, static_cast<std::uint64_t>(i));
      const Evaluation found = p.right_rows(), naively = naive(p.right(), p.operands, rows);
      expect_same(found.out, exact.out, case_id(twin));
      expect_same(found.lse, exact.lse, case_id(twin));
      expect_same(found.noise, exact.noise, case_id(twin));
      EXPECT_EQ(found.visible, exact.visible) << case_id(twin);
      expect_same(naively.out, rounded.out, case_id(twin));
    }
  }
}

// The formula, row by row, from the operands where they lie.
TEST(Rows, AgreeWithAPlainEvaluationOfTheFormula) {
  std::mt19937 random(8);
  for (int i = 0; i < 60; ++i) {
    Case c = any_case(random);
    c.mask_tensor.dtype = MaskDType::boolean;
    for (const Case& twin : twins_of(c, 5)) {
      const Problem p(twin);
      const std::vector<OutputRow> rows = p.all_rows();
      const Evaluation found = p.right_rows();
      const std::vector<double> slopes = resolved_slopes(c);
      for (std::size_t n = 0; n < rows.size(); ++n) {
        const auto [b, h, row] = rows[n];
        const std::int64_t kv_head = h / (c.heads / c.heads_kv), own = row + (c.alignment == Alignment::bottom_right ? keys_of(c, b) - rows_of(c, b) : 0);
        double sum = 0;
        std::vector<double> out(static_cast<std::size_t>(c.head_dim_v), 0.0);
        for (std::int64_t j = 0; j < keys_of(c, b); ++j) {
          if ((c.mask == MaskKind::causal && j > own) || (c.window_left >= 0 && j < own - c.window_left) || (c.window_right >= 0 && j > own + c.window_right)) continue;
          const auto& full = c.mask_tensor.full;
          const TensorView& mask = p.operands.mask;
          if (mask && static_cast<const std::uint8_t*>(mask.data)[mask.offset(full[0] ? b : 0, full[1] ? h : 0, full[2] ? row : 0, full[3] ? j : 0)] == 0) continue;
          double score = 0;
          for (std::int64_t x = 0; x < c.head_dim; ++x) score += static_cast<double>(p.operands.q.load(b, h, row, x)) * p.operands.k.load(b, kv_head, j, x);
          score *= resolved_scale(c);
          if (c.softcap != 0) score = c.softcap * std::tanh(score / c.softcap);
          if (!slopes.empty()) score -= static_cast<double>(static_cast<float>(slopes[static_cast<std::size_t>(h)])) * static_cast<double>(std::abs(own - j));
          const double weight = std::exp(score);
          sum += weight;
          for (std::int64_t x = 0; x < c.head_dim_v; ++x) out[static_cast<std::size_t>(x)] += weight * p.operands.v.load(b, kv_head, j, x);
        }
        ASSERT_EQ(found.visible[n] == 0, sum == 0) << case_id(twin);
        for (std::size_t x = 0; x < out.size() && sum > 0; ++x)
          ASSERT_NEAR(found.out[n * out.size() + x], out[x] / sum, 1e-10 * std::fmax(1, std::fabs(out[x] / sum))) << case_id(twin);
      }
    }
  }
}

TEST(Rows, OfNobodyStayNaN) {
  for (const Case& c : twins_of(with(shaped(2, 2, 2, 3, 5, 4), [](Case& value) { value.lengths_q = {3, 1}, value.lengths_kv = {5, 2}; }), 2)) {
    Tensors tensors(host(), c);
    tensors.fill(1);
    for (const TensorView& t : {tensors.k(), tensors.v()}) {
      const DLTensor& shown = *(t.data == tensors.k().data ? tensors.abi()->k : tensors.abi()->v);
      std::int64_t elements = 1;
      for (int axis = 0; axis < shown.ndim; ++axis) elements *= shown.shape[axis];
      std::vector<bool> owned(static_cast<std::size_t>(elements), false);
      for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t s = 0; s < keys_of(c, b); ++s)
          for (std::int64_t n = 0; n < 2 * 4; ++n) owned[static_cast<std::size_t>(t.offset(b, n / 4, s, n % 4))] = true;
      for (std::int64_t n = 0; n < elements; ++n) EXPECT_EQ(!std::isnan(static_cast<const float*>(t.data)[n]), owned[static_cast<std::size_t>(n)]) << case_id(c) << " " << n;
      EXPECT_EQ(std::count(owned.begin(), owned.end(), true), 7 * 8);
    }
  }
}

// R41: empty sequences give zeros or nothing, others are unaffected; so do cases without a single row or key.
TEST(Rows, OfEmptySequencesAreJudged) {
  for (const auto& [q, kv] : {std::pair{std::vector<std::int64_t>{0, 1, 0, 1}, std::vector<std::int64_t>{0, 3, 0, 5}}, {{0, 0, 0, 0}, {0, 0, 0, 0}}, {{1, 1, 0, 1}, {0, 0, 0, 0}}})
    for (const Case& c : twins_of(with(shaped(4, 9, 3, 1, 5, 64), [&](Case& value) { value.lengths_q = q, value.lengths_kv = kv; }), 4)) {
      Problem p(c);
      const NumericsResult result = p.check(p.right_rows());
      EXPECT_EQ(result.status, Status::ok) << case_id(c) << ": " << result.reason;
      Tensors tensors(host(), c);
      tensors.fill(1);
      tensors.poison_outputs(Pass::forward);
      EXPECT_EQ(tensors.damage(), std::nullopt);
      const HostCopy copy = read_dense(host(), tensors.o());
      for (std::int64_t b = 0; b < 4; ++b)
        EXPECT_EQ(std::isnan(copy.view.load(b, 8, 0, 63)), c.layout != Layout::thd || q[static_cast<std::size_t>(b)] == 1) << case_id(c);
    }
}

TEST(Rows, OfAPageThatHoldsNoKeyAreFoundAndNamed) {
  Problem p(with(shaped(2, 2, 1, 4, 12, 8), [](Case& c) { c.page_size = 4, c.page_order = PageOrder::shuffled, c.lengths_kv = {12, 6}; }));
  Evaluation answer = p.right_rows();
  EXPECT_EQ(p.check(answer).status, Status::ok);
  const std::vector<OutputRow> rows = p.all_rows();
  for (std::size_t n = 0; n < rows.size(); ++n)
    if (rows[n].batch == 1) std::fill_n(answer.out.begin() + static_cast<std::ptrdiff_t>(n * 8), 8, std::nan(""));  // as a page's tail makes them
  NumericsResult result = p.check(answer);
  EXPECT_EQ(result.status, Status::wrong);
  EXPECT_EQ(result.numerics.diagnosis, "reads places of pages that hold no key of the sequence");
  std::fill(answer.out.begin(), answer.out.end(), std::nan(""));
  result = p.check(answer);
  EXPECT_EQ(result.status, Status::wrong);
  EXPECT_EQ(result.numerics.diagnosis, "") << "the first sequence fills its pages";
}

TEST(Rows, OfARaggedOutputAreScannedAlone) {
  Problem p(with(shaped(3, 2, 2, 4, 4, 8), [](Case& c) { c.layout = Layout::thd, c.lengths_q = {1, 0, 4}, c.lengths_kv = {4, 4, 4}; }));
  p.poison = poison_bits(ATTN_FP32);
  const OutputScan never = scan_output(p.c, {}, [&] {
    for (std::int64_t n = 0; n < 5 * 2 * 8; ++n) std::memcpy(static_cast<float*>(p.output.data) + n, &*p.poison, 4);
    return p.output;
  }(), p.poison);
  EXPECT_EQ(never.unwritten, 5 * 2 * 8);
  p.write(p.right_rows());
  EXPECT_EQ(scan_output(p.c, {}, p.output, p.poison).unwritten, 0);
  p.output.store(2, 1, 3, 7, std::nanf(""));
  EXPECT_EQ(scan_output(p.c, {}, p.output, p.poison).first_not_finite->row, (OutputRow{2, 1, 3}));
}

TEST(Rows, ThatAreNotThereAreZerosInADenseCopy) {
  Case c = shaped(3, 2, 2, 4, 4, 8);
  c.layout = Layout::thd;
  c.lengths_q = {1, 0, 4};
  c.lengths_kv = {4, 4, 4};
  Tensors tensors(host(), c);
  tensors.fill(1);
  const HostCopy copy = read_dense(host(), tensors.q());
  EXPECT_FALSE(copy.view.rows);
  for (std::int64_t b = 0; b < 3; ++b)
    for (std::int64_t h = 0; h < 2; ++h)
      for (std::int64_t s = 0; s < 4; ++s)
        for (std::int64_t x = 0; x < 8; ++x) EXPECT_EQ(copy.view.load(b, h, s, x), s < rows_of(c, b) ? tensors.q().load(b, h, s, x) : 0);
}

TEST(Rows, OfARaggedOutputMergeAsAViewOrIntoTokens) {
  Case c = shaped(3, 4, 4, 4, 4, 8);
  c.layout = Layout::thd;
  c.lengths_q = {3, 0, 4};
  c.lengths_kv = {4, 4, 4};
  OpRecorder recorder;
  MergeHeads merge(host(), c);
  for (const StrideKind kind : {StrideKind::dense, StrideKind::sliced, StrideKind::transposed}) {
    c.strides.q = kind;
    Tensors tensors(host(), c);
    tensors.fill(1);
    const TensorView merged = merge(tensors.q(), &recorder);
    EXPECT_EQ(recorder.take().size(), kind == StrideKind::dense ? 0u : 1u);
    EXPECT_EQ(merged.strides[1], 8);
    EXPECT_EQ(merged.offset(2, 1, 1, 3), (4 * 4 + 1) * 8 + 3) << "tokens follow each other";
    for (std::int64_t b = 0; b < 3; ++b)
      for (std::int64_t s = 0; s < 4; ++s) {
        ASSERT_EQ(merged.has_row(b, s), s < rows_of(c, b));
        for (std::int64_t x = 0; x < 8 && merged.has_row(b, s); ++x) EXPECT_EQ(merged.load(b, 3, s, x), tensors.q().load(b, 3, s, x));
      }
  }
}

// Through strides of every kind, as tensors lay them out.
TEST(Rows, HoldTheSameNumbersWhateverTheStrides) {
  const Case padded = with(shaped(3, 4, 2, 6, 9, 8), [](Case& c) { c.lengths_q = {6, 0, 3}, c.lengths_kv = {9, 1, 4}; });
  Tensors twin(host(), padded);
  twin.fill(3);
  for (Case c : twins_of(padded, 4))
    for (const StrideKind kind : {StrideKind::dense, StrideKind::transposed, StrideKind::sliced}) {
      c.strides = {kind, kind, kind, kind};
      Tensors tensors(host(), c);
      tensors.fill(3);
      for (std::int64_t b = 0; b < 3; ++b)
        for (std::int64_t h = 0; h < 2; ++h)
          for (std::int64_t x = 0; x < 8; ++x) {
            for (std::int64_t s = 0; s < rows_of(c, b); ++s) ASSERT_EQ(tensors.q().load(b, h, s, x), twin.q().load(b, h, s, x)) << case_id(c);
            for (std::int64_t s = 0; s < keys_of(c, b); ++s) ASSERT_EQ(tensors.v().load(b, h, s, x), twin.v().load(b, h, s, x)) << case_id(c);
          }
    }
}

}  // namespace
}  // namespace attn
