#include "engine/gradients.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/gradient_check.hpp"
#include "problem.hpp"

namespace attn {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A dense problem with dout, and gradients to be judged.
class GradientProblem : public Problem {
 public:
  explicit GradientProblem(const Case& value, std::uint64_t seed = 1) : Problem(with(value, [](Case& each) { each.pass = Pass::forward_backward; }), seed) {
    dout = view(output.dtype, output.shape);
    dq = view(operands.q.dtype, operands.q.shape);
    dk = view(operands.k.dtype, operands.k.shape);
    dv = view(operands.v.dtype, operands.v.shape);
    fill_gradient(c, seed, dout);
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t g = 0; g < c.heads_kv; ++g) groups.push_back({b, g});
  }
  GradientOperands all() const { return {operands, dout, {}}; }
  Gradients of(const GradientReading& reading) const { return reference_gradients(reading, c, all(), groups); }
  Gradients right_gradients() const { return of({right()}); }
  Gradients naive_ones() const { return naive_gradients({right()}, c, all(), groups); }

  static void put(const Evaluation& from, const std::vector<OutputRow>& rows, const TensorView& to) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::int64_t x = 0; x < from.columns; ++x)
        to.store(rows[i].batch, rows[i].head, rows[i].row, x, static_cast<float>(from.out[i * static_cast<std::size_t>(from.columns) + static_cast<std::size_t>(x)]));
  }
  void write(const Gradients& from) {
    put(from.dq, from.q_rows, dq);
    put(from.dk, from.kv_rows, dk);
    put(from.dv, from.kv_rows, dv);
  }
  NumericsResult check_them() const {
    return check_gradients({.value = &c, .operands = all(), .dq = dq, .dk = dk, .dv = dv, .o = c.dropout > 0 ? output : TensorView{}, .poisoned = true, .seed = 0, .limits = {}});
  }
  NumericsResult check_them(const Gradients& from) {
    write(from);
    return check_them();
  }

  TensorView dout, dq, dk, dv;
  std::vector<KvHead> groups;
};

struct Named {
  const char* name;
  Case value;
};

std::vector<Named> features() {
  const auto base = [](std::int64_t heads = 2, std::int64_t heads_kv = 2, std::int64_t seq_q = 5, std::int64_t seq_kv = 7) {
    return shaped(2, heads, heads_kv, seq_q, seq_kv, 4);
  };
  const auto plain = base();
  const auto masked = [&](MaskPattern pattern, MaskDType dtype, DeadRows dead) {
    return with(plain, [&](Case& c) {
      c.mask = MaskKind::tensor;
      c.mask_tensor.pattern = pattern;
      c.mask_tensor.dtype = dtype;
      c.mask_tensor.full = {true, true, true, true};
      c.dead_rows = dead;
    });
  };
  const auto causal = [&](Alignment alignment, std::int64_t seq_q, std::int64_t seq_kv, DeadRows dead = DeadRows::zero) {
    return with(base(2, 2, seq_q, seq_kv), [&](Case& c) { c.mask = MaskKind::causal, c.alignment = alignment, c.dead_rows = dead; });
  };
  return {
      {"plain", plain},
      {"softcap", with(plain, [](Case& c) { c.softcap = 0.75; })},
      {"alibi", with(base(3, 3), [](Case& c) { c.alibi.emplace(), c.alignment = Alignment::bottom_right; })},
      {"slopes", with(plain, [](Case& c) { c.alibi = std::vector{0.5, 0.25}, c.alignment = Alignment::top_left; })},
      {"window", with(plain, [](Case& c) { c.window_left = 1, c.window_right = 2, c.alignment = Alignment::bottom_right; })},
      {"gqa 6:2", base(6, 2)},
      {"gqa 6:3", base(6, 3)},
      {"gqa 4:4", base(4, 4)},
      {"gqa 4:1", base(4, 1)},
      {"head_dim_v", with(plain, [](Case& c) { c.head_dim_v = 3; })},
      {"bool mask", masked(MaskPattern::random, MaskDType::boolean, DeadRows::zero)},
      {"additive mask", masked(MaskPattern::random, MaskDType::dtype, DeadRows::zero)},
      {"dead rows zero", masked(MaskPattern::rows_dead, MaskDType::boolean, DeadRows::zero)},
      {"dead rows mean", masked(MaskPattern::rows_dead, MaskDType::boolean, DeadRows::mean)},
      {"dead rows nan", masked(MaskPattern::rows_dead, MaskDType::boolean, DeadRows::nan)},
      {"lengths", with(plain, [](Case& c) { c.lengths_q = {3, 0}, c.lengths_kv = {4, 6}; })},
      {"no keys", with(plain, [](Case& c) { c.lengths_q = {5, 2}, c.lengths_kv = {0, 6}; })},
      {"causal top_left", causal(Alignment::top_left, 5, 7)},
      {"causal bottom_right", causal(Alignment::bottom_right, 5, 7)},
      {"causal, first rows dead", causal(Alignment::bottom_right, 7, 4)},
      {"causal, first rows the mean", causal(Alignment::bottom_right, 7, 4, DeadRows::mean)},
      {"scale 0", with(plain, [](Case& c) { c.scale = 0; })},
      {"scale negative", with(plain, [](Case& c) { c.scale = -0.75; })},
      {"many", with(base(6, 2), [](Case& c) {
         c.softcap = 1.5, c.alibi.emplace(), c.mask = MaskKind::causal, c.alignment = Alignment::bottom_right, c.window_left = 3, c.head_dim_v = 3, c.scale = 0.875;
         c.lengths_q = {5, 4}, c.lengths_kv = {7, 5};
       })},
  };
}

// Inputs on a coarse grid, so that steps of a power of two are exact in float.
void coarsen(const TensorView& t) {
  for (std::int64_t b = 0; b < t.shape[0]; ++b)
    for (std::int64_t h = 0; h < t.shape[1]; ++h)
      for (std::int64_t s = 0; s < t.shape[2]; ++s)
        for (std::int64_t d = 0; d < t.shape[3]; ++d) t.store(b, h, s, d, std::round(t.load(b, h, s, d) * 64) / 64);
}

double loss(const GradientProblem& p) {
  const std::vector<OutputRow> rows = p.all_rows();
  const Evaluation o = p.right_rows();
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::int64_t x = 0; x < o.columns; ++x) {
      const double value = o.out[i * static_cast<std::size_t>(o.columns) + static_cast<std::size_t>(x)];
      if (!std::isnan(value)) sum += value * static_cast<double>(p.dout.load(rows[i].batch, rows[i].head, rows[i].row, x));
    }
  return sum;
}

// The root of trust: nothing but the forward reference and the definition of a derivative.
TEST(ReferenceGradients, AreTheDerivativesOfTheForwardReference) {
  constexpr float kStep = 1.0f / 64;
  for (const auto& [name, value] : features()) {
    GradientProblem p(value);
    for (const TensorView& t : {p.operands.q, p.operands.k, p.operands.v}) coarsen(t);
    const Gradients found = p.right_gradients();
    const auto compare = [&](const char* tensor, const TensorView& input, const Evaluation& gradient, const std::vector<OutputRow>& rows) {
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::int64_t x = 0; x < gradient.columns; ++x) {
          const auto [b, h, s] = rows[i];
          const float at = input.load(b, h, s, x);
          const auto moved = [&](float by) {
            input.store(b, h, s, x, at + by);
            const double result = loss(p);
            input.store(b, h, s, x, at);
            return result;
          };
          const double slope = (8 * (moved(kStep) - moved(-kStep)) - (moved(2 * kStep) - moved(-2 * kStep))) / (12 * static_cast<double>(kStep));
          const double have = gradient.out[i * static_cast<std::size_t>(gradient.columns) + static_cast<std::size_t>(x)];
          ASSERT_NEAR(have, slope, 2e-6) << name << ": " << tensor << " (" << b << ", " << h << ", " << s << ", " << x << ")";
        }
    };
    compare("dq", p.operands.q, found.dq, found.q_rows);
    compare("dk", p.operands.k, found.dk, found.kv_rows);
    compare("dv", p.operands.v, found.dv, found.kv_rows);
  }
}

TEST(NaiveGradients, AreNearTheReferenceAndNotIt) {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::fp8_e5m2}) {
    GradientProblem p(shaped(1, 4, 2, 40, 40, 32, dtype));
    const Gradients right = p.right_gradients(), naive = p.naive_ones();
    double most = 0, largest = 0;
    for (std::size_t i = 0; i < right.dk.out.size(); ++i) {
      most = std::max(most, std::fabs(right.dk.out[i] - naive.dk.out[i]));
      largest = std::max(largest, std::fabs(right.dk.out[i]));
    }
    EXPECT_GT(most, 0);
    const double coarseness = dtype == DType::fp32 ? 1e-5 : dtype == DType::fp16 ? 2e-2 : dtype == DType::bf16 ? 0.1 : 0.4;
    EXPECT_LT(most, coarseness * largest) << word(dtype);
  }
}

TEST(GradientCheck, AcceptsWhatIsRightRoundedToItsDType) {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16})
    for (const auto& [name, value] : features()) {
      GradientProblem p(with(value, [&](Case& c) { c.dtype = c.dtype_kv = dtype; }));
      const NumericsResult result = p.check_them(p.right_gradients());
      EXPECT_EQ(result.status, Status::ok) << name << " " << word(dtype) << ": " << result.reason;
      EXPECT_EQ(result.numerics.rows_checked > 0, true) << name;
    }
}

TEST(GradientCheck, NamesTheMistake) {
  const auto check = [](const Case& value, const GradientReading& mistake, const char* text) {
    GradientProblem p(value);
    GradientReading reading = mistake;
    const NumericsResult result = p.check_them(p.of(reading));
    EXPECT_EQ(result.status, Status::wrong) << text;
    EXPECT_THAT(result.reason, StartsWith(std::string("equals the reference with ") + text));
    EXPECT_THAT(result.reason, HasSubstr("worst at (batch "));
  };
  const Case softcap = with(shaped(1, 4, 2, 24, 24, 16), [](Case& c) { c.softcap = 1; });
  check(softcap, {{.value = with(softcap, [](Case& c) { c.softcap = 0; }), .text = {}}}, "softcap ignored");
  check(softcap, {{.value = softcap, .text = {}}, GradientSlip::softcap_derivative}, "the softcap's derivative ignored");
  check(softcap, {{.value = softcap, .text = {}}, GradientSlip::delta}, "rowsum(dO * O) ignored");
  check(softcap, {{.value = softcap, .text = {}}, GradientSlip::scale}, "the scale ignored in dq and dk");
  check(softcap, {{.value = softcap, .text = {}}, GradientSlip::one_head}, "dk and dv of one query head of each group");
  const Case causal = with(shaped(1, 6, 3, 24, 24, 16, DType::bf16), [](Case& c) { c.mask = MaskKind::causal; });
  check(causal, {{.value = with(causal, [](Case& c) { c.mask = MaskKind::none; }), .text = {}}}, "causality ignored");
  check(causal, {{.value = causal, .head_map = HeadMap::modulo, .text = {}}}, "KV heads mapped by modulo");
  const Case alibi = with(shaped(1, 4, 2, 24, 24, 16), [](Case& c) { c.alibi.emplace(); });
  check(alibi, {{.value = alibi, .alibi_by_key = true, .text = {}}}, "ALiBi by the key's place");
  const Case ragged = with(shaped(3, 4, 2, 9, 12, 16), [](Case& c) { c.layout = Layout::thd, c.lengths_q = {9, 4, 5}, c.lengths_kv = {12, 3, 7}; });
  const std::vector<Reading> readings = misreadings(ragged);
  for (const char* const text : {"the starts of the keys ignored", "lengths ignored"}) {
    const auto found = std::find_if(readings.begin(), readings.end(), [&](const Reading& reading) { return reading.text == text; });
    ASSERT_NE(found, readings.end()) << text;
    check(ragged, {*found}, text);
  }
}

TEST(GradientCheck, RowsThatAFiniteFillHidesExcuseNoOthersInDq) {
  GradientProblem p(with(shaped(1, 1, 1, 100, 32, 16, DType::fp16), [](Case& c) {
    c.mask = MaskKind::tensor;
    c.mask_tensor = {.pattern = MaskPattern::rows_dead, .full = {false, false, true, true}, .dtype = MaskDType::dtype, .fill = MaskFill::minimum};
  }));
  Gradients gradients = p.right_gradients();
  EXPECT_EQ(p.check_them(gradients).reason, "");
  EXPECT_EQ(p.check_them(p.naive_ones()).reason, "");
  std::size_t alive = 0;
  while (gradients.dq.lse[alive] < -60000 || gradients.dq.visible[alive] < 17) ++alive;  // in the octave beside the hidden rows'
  gradients.dq.out[alive * 16 + 3] += 0.1;
  EXPECT_THAT(p.check_them(gradients).reason, StartsWith("dq: worst at "));
}

TEST(GradientCheck, NamesTheStridesOfDoutIgnored) {
  GradientProblem p(shaped(2, 4, 2, 24, 24, 16));
  const TensorView dense = p.dout;
  p.dout.strides = {4 * 24 * 16, 16, 4 * 16, 1};  // (B, Sq, H, D) in memory
  const GradientOperands misread{p.operands, dense};
  p.write(reference_gradients({p.right()}, p.c, misread, p.groups));
  EXPECT_THAT(p.check_them().reason, StartsWith("dq: worst at"));
  const NumericsResult named = check_gradients({.value = &p.c, .operands = {p.operands, p.dout, dense}, .dq = p.dq, .dk = p.dk, .dv = p.dv, .o = {}, .poisoned = true, .seed = 0, .limits = {}});
  EXPECT_THAT(named.reason, StartsWith("equals the reference with the strides of dout ignored; dq: worst at"));
}

TEST(GradientCheck, SaysWhichTensorIsOffAndWhere) {
  GradientProblem p(shaped(2, 4, 2, 24, 24, 16));
  p.write(p.right_gradients());
  p.dk.store(1, 0, 5, 3, p.dk.load(1, 0, 5, 3) + 0.01f);
  const NumericsResult result = p.check_them();
  EXPECT_THAT(result.reason, StartsWith("dk: worst at (batch 1, head 0, row 5, column 3): found "));
  EXPECT_THAT(result.reason, HasSubstr("1 of 96 checked rows is off, only batch 1, only head 0"));
  EXPECT_THAT(result.reason, Not(HasSubstr("dq")));
}

TEST(GradientCheck, FindsWhatWasNeverWrittenOrIsNotFinite) {
  GradientProblem p(shaped(1, 2, 1, 12, 12, 8));
  p.write(p.right_gradients());
  const std::uint32_t poison = poison_bits(ATTN_FP32);
  std::memcpy(static_cast<float*>(p.dv.data) + p.dv.offset(0, 0, 11, 7), &poison, 4);
  EXPECT_THAT(p.check_them().reason, StartsWith("dv: 1 element never written, first (batch 0, head 0, row 11, column 7)"));
  p.write(p.right_gradients());
  p.dq.store(0, 1, 3, 2, std::numeric_limits<float>::infinity());
  EXPECT_THAT(p.check_them().reason, StartsWith("dq: 1 element not finite, first (batch 0, head 1, row 3, column 2): inf"));
}

// CASES R41.
TEST(GradientCheck, WantsExactlyZeroWhereNoQueryLooks) {
  GradientProblem p(with(shaped(4, 9, 3, 1, 5, 64), [](Case& c) { c.lengths_q = {0, 1, 0, 1}, c.lengths_kv = {0, 3, 5, 5}; }));
  const Gradients right = p.right_gradients();
  EXPECT_EQ(p.check_them(right).status, Status::ok);
  p.dk.store(2, 1, 4, 0, 1e-30f);
  EXPECT_THAT(p.check_them().reason, StartsWith("dk: worst at (batch 2, head 1, row 4, column 0)"));
}

// CASES R24: zero gives finite gradients, nan lets the keys of its sequence be spoilt and no other's.
TEST(GradientCheck, HoldsNanAgainstItButUnderItsPolicy) {
  const auto dead = [](DeadRows policy) {
    return with(shaped(2, 2, 2, 7, 7, 8), [&](Case& c) {
      c.mask = MaskKind::causal, c.alignment = Alignment::bottom_right, c.lengths_q = {7, 5}, c.lengths_kv = {6, 5}, c.dead_rows = policy;
    });
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const DeadRows policy : {DeadRows::zero, DeadRows::nan}) {
    GradientProblem p(dead(policy));
    p.write(p.right_gradients());
    for (std::int64_t x = 0; x < 8; ++x) p.dq.store(0, 1, 0, x, nan);
    for (std::int64_t key = 0; key < 6; ++key)
      for (std::int64_t x = 0; x < 8; ++x) p.dv.store(0, 1, key, x, nan);
    EXPECT_EQ(p.check_them().status, policy == DeadRows::nan ? Status::ok : Status::wrong) << p.check_them().reason;
    p.dv.store(1, 1, 0, 0, nan);
    EXPECT_THAT(p.check_them().reason, HasSubstr("dv: "));
  }
}

TEST(GradientSample, HoldsTheFirstAndTheLastGroupWholeHoweverLargeTheyAre) {
  const Case large = shaped(8, 32, 8, 4096, 4096, 128);
  const std::vector<KvHead> few = sample_groups(large, 3, {.flops = 1e6, .elements = 1e9}), some = sample_groups(large, 3, {.flops = 7e11, .elements = 1e9});
  ASSERT_EQ(few.size(), 2u);
  EXPECT_EQ(few[0].batch + few[0].head, 0);
  EXPECT_EQ(few[1].batch * 8 + few[1].head, 63);
  EXPECT_GT(some.size(), 2u);
  EXPECT_LT(some.size(), 64u);
  EXPECT_EQ(sample_groups(shaped(2, 4, 2, 8, 8, 8), 3, {}).size(), 4u);
}

// Dropout of the reference's own weights: each output row and gradient as the definition says, with a mask of the test's.
class Dropped {
 public:
  Dropped(GradientProblem& p, double probability, unsigned seed, double factor) : p_(p), probability_(probability), factor_(factor), random_(seed) {}
  // The output goes to the problem.
  Gradients gradients() {
    Gradients result = p_.right_gradients();
    Evaluation output = result.dq;
    output.columns = p_.c.head_dim_v;
    output.out.assign(result.q_rows.size() * static_cast<std::size_t>(p_.c.head_dim_v), 0.0);
    std::fill(result.dk.out.begin(), result.dk.out.end(), 0.0);
    std::fill(result.dv.out.begin(), result.dv.out.end(), 0.0);
    const Case& c = p_.c;
    const auto d = static_cast<std::size_t>(c.head_dim);
    for (std::size_t r = 0; r < result.q_rows.size(); ++r) {
      const auto [b, h, i] = result.q_rows[r];
      const std::int64_t g = h / (c.heads / c.heads_kv);
      std::vector<double> weights, kept, dp;
      double sum = 0, delta = 0;
      const KeyRange keys = visible_keys(c, b, i);
      for (std::int64_t j = keys.first; j < keys.end; ++j) {
        double dot = 0, of_v = 0;
        for (std::int64_t x = 0; x < c.head_dim; ++x) {
          dot += static_cast<double>(p_.operands.q.load(b, h, i, x)) * static_cast<double>(p_.operands.k.load(b, g, j, x));
          of_v += static_cast<double>(p_.dout.load(b, h, i, x)) * static_cast<double>(p_.operands.v.load(b, g, j, x));
        }
        weights.push_back(std::exp(dot * resolved_scale(c)));
        dp.push_back(of_v);
        sum += weights.back();
        kept.push_back(uniform_(random_) < probability_ ? 0 : factor_);
      }
      for (std::size_t j = 0; j < weights.size(); ++j) {
        weights[j] /= sum;
        dp[j] *= kept[j];
        delta += weights[j] * dp[j];
      }
      std::fill_n(result.dq.out.begin() + static_cast<std::ptrdiff_t>(r * d), d, 0.0);
      for (std::size_t j = 0; j < weights.size(); ++j) {
        const double ds = weights[j] * (dp[j] - delta) * resolved_scale(c);
        const std::int64_t at = keys.first + static_cast<std::int64_t>(j);
        const auto key = static_cast<std::size_t>((b * c.heads_kv + g) * keys_of(c, b) + at);
        const double weight = weights[j] * kept[j];
        for (std::size_t x = 0; x < d; ++x) {
          const auto column = static_cast<std::int64_t>(x);
          result.dq.out[r * d + x] += ds * static_cast<double>(p_.operands.k.load(b, g, at, column));
          result.dk.out[key * d + x] += ds * static_cast<double>(p_.operands.q.load(b, h, i, column));
          result.dv.out[key * d + x] += weight * static_cast<double>(p_.dout.load(b, h, i, column));
          output.out[r * d + x] += weight * static_cast<double>(p_.operands.v.load(b, g, at, column));
        }
      }
    }
    GradientProblem::put(output, result.q_rows, p_.output);
    return result;
  }

 private:
  GradientProblem& p_;
  double probability_, factor_;
  std::mt19937 random_;
  std::uniform_real_distribution<double> uniform_{0, 1};
};

TEST(GradientCheck, WithDropoutTheMeanIsRightAndTheScalingIsNamed) {
  GradientProblem p(with(shaped(2, 4, 2, 200, 160, 16), [](Case& c) { c.dropout = 0.25; }));
  for (unsigned seed = 1; seed <= 8; ++seed) {
    const NumericsResult right = p.check_them(Dropped(p, 0.25, seed, 1 / 0.75).gradients());
    EXPECT_EQ(right.status, Status::ok) << right.reason;
    const NumericsResult unscaled = p.check_them(Dropped(p, 0.25, seed, 1).gradients());
    EXPECT_THAT(unscaled.reason, StartsWith("equals the reference with the scaling of dropout ignored"));
  }
  EXPECT_THAT(p.check_them(p.right_gradients()).reason, HasSubstr("dropout ignored"));
}

TEST(GradientCheck, KnowsWhetherAllPassesDropTheSameWeights) {
  for (const double probability : {0.1, 0.25, 0.6})
    for (const DType dtype : {DType::fp32, DType::bf16, DType::fp16})
      for (const bool causal : {false, true}) {
        GradientProblem p(with(shaped(1, 4, 2, 80, 96, 16, dtype), [&](Case& c) {
          c.dropout = probability;
          if (causal) c.mask = MaskKind::causal, c.alignment = Alignment::bottom_right, c.lengths_q = {70}, c.lengths_kv = {83};
        }));
        const double factor = 1 / (1 - probability);
        const Gradients other = Dropped(p, probability, 99, factor).gradients();
        for (unsigned seed = 1; seed <= 6; ++seed) {
          Gradients right = Dropped(p, probability, seed, factor).gradients();
          p.write(right);
          const NumericsResult same = p.check_them();
          ASSERT_EQ(same.status, Status::ok) << probability << " " << word(dtype) << " " << causal << " " << seed << ": " << same.reason;
          p.write(other);
          ASSERT_THAT(p.check_them().reason, StartsWith("the backward pass drops other weights than the forward pass; sum(dout . o) and sum(dv . v) of (batch 0, KV head "));
          if (probability < 0.2) continue;  // what dq and dk differ by would be near what 16 bits round
          right.dq = other.dq;
          p.write(right);
          ASSERT_THAT(p.check_them().reason, StartsWith("dq and dk drop other weights; sum(dq . q) and sum(dk . k) of (batch 0, KV head "));
        }
      }
}

// Where a dead row spoils all keys of its sequence there is nothing that dropout could show in.
TEST(GradientCheck, WithDropoutAndDeadRowsNanIsNoRowWithoutDropout) {
  GradientProblem p(with(shaped(1, 6, 2, 64, 33, 16), [](Case& c) {
    c.mask = MaskKind::causal, c.alignment = Alignment::bottom_right, c.dropout = 0.5, c.dead_rows = DeadRows::nan;
  }));
  Gradients gradients = Dropped(p, 0.5, 3, 2).gradients();
  EXPECT_EQ(p.check_them(gradients).reason, "");
  for (Evaluation* each : {&gradients.dk, &gradients.dv}) std::fill(each->out.begin(), each->out.end(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t row = 0; row < gradients.q_rows.size(); ++row)
    if (gradients.q_spoilt[row]) std::fill_n(gradients.dq.out.begin() + static_cast<std::ptrdiff_t>(row) * 16, 16, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(p.check_them(gradients).reason, "");
}

// Float rounds a score of 50 by 2^-19, and with it the weights; q is off by as much in one direction.
TEST(GradientCheck, ScoresThatAreLargeMayRoundInDkAndDv) {
  for (const Inputs inputs : {Inputs::negative_logits, Inputs::skewed, Inputs::normal})
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      GradientProblem p(with(shaped(1, 1, 1, 3, 3, 4), [&](Case& c) { c.inputs = inputs, c.head_dim_v = 2; }), seed);
      const TensorView q = p.view(ATTN_FP32, p.operands.q.shape);
      for (std::int64_t row = 0; row < 3; ++row)
        for (std::int64_t x = 0; x < 4; ++x) q.store(0, 0, row, x, std::nextafter(p.operands.q.load(0, 0, row, x), (row % 2 == 0 ? 1.0f : -1.0f) * 100));
      Operands rounded = p.operands;
      rounded.q = q;
      const NumericsResult result = p.check_them(reference_gradients({p.right()}, p.c, {rounded, p.dout, {}}, p.groups));
      EXPECT_EQ(result.status, Status::ok) << word(inputs) << " " << seed << ": " << result.reason;
    }
}

TEST(Merged, KeepsTheWorseOfTwoChecks) {
  NumericsResult good, bad{Status::wrong, "dk: worst", {}};
  good.numerics.max_abs_error = 1, good.numerics.max_budget = 4, good.numerics.rows_checked = 3;
  bad.numerics.max_abs_error = 0.5, bad.numerics.max_budget = 0.1, bad.numerics.rows_checked = 4, bad.numerics.diagnosis = "equals";
  for (const NumericsResult& both : {merged(good, bad), merged(bad, good)}) {
    EXPECT_EQ(both.status, Status::wrong);
    EXPECT_EQ(both.reason, "dk: worst");
    EXPECT_EQ(both.numerics.max_abs_error, 0.5);
    EXPECT_EQ(both.numerics.rows_checked, 7);
    EXPECT_EQ(both.numerics.diagnosis, "equals");
  }
}

}  // namespace
}  // namespace attn
