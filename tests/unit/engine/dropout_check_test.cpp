#include "engine/dropout_check.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "problem.hpp"

namespace attn {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

// The definition with a mask of the test's own, written to p.output. `head_shift`: reads the KV head of another query head.
void drop(Problem& p, double probability, double factor, unsigned seed, std::int64_t head_shift = 0, std::int64_t shifted_head = -1) {
  const Case& c = p.c;
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const auto& [b, h, i] : p.all_rows()) {
    const std::int64_t g = (h / (c.heads / c.heads_kv) + (h == shifted_head ? head_shift : 0)) % c.heads_kv;
    const KeyRange keys = visible_keys(c, b, i);
    std::vector<double> weights, out(static_cast<std::size_t>(c.head_dim_v));
    double sum = 0;
    for (std::int64_t j = keys.first; j < keys.end; ++j) {
      double dot = 0;
      for (std::int64_t x = 0; x < c.head_dim; ++x) dot += static_cast<double>(p.operands.q.load(b, h, i, x)) * static_cast<double>(p.operands.k.load(b, g, j, x));
      sum += weights.emplace_back(std::exp(dot * resolved_scale(c)));
    }
    for (std::int64_t j = keys.first; j < keys.end; ++j) {
      const double weight = uniform(random) < probability ? 0 : weights[static_cast<std::size_t>(j - keys.first)] / sum * factor;
      for (std::int64_t x = 0; x < c.head_dim_v; ++x) out[static_cast<std::size_t>(x)] += weight * static_cast<double>(p.operands.v.load(b, g, j, x));
    }
    for (std::int64_t x = 0; x < c.head_dim_v; ++x) p.output.store(b, h, i, x, static_cast<float>(out[static_cast<std::size_t>(x)]));
  }
}

Case dropping(double p, DType dtype = DType::fp32) {
  return with(shaped(1, 4, 2, 200, 200, 16, dtype), [&](Case& c) { c.dropout = p, c.mask = MaskKind::causal; });
}

TEST(DropoutCheck, AcceptsWhatIsRight) {
  for (const double probability : {0.001, 0.05, 0.25, 0.7})
    for (const DType dtype : {DType::fp32, DType::bf16}) {
      Problem p(dropping(probability, dtype));
      for (unsigned seed = 0; seed < 20; ++seed) {
        drop(p, probability, 1 / (1 - probability), seed);
        const NumericsResult result = p.check();
        ASSERT_EQ(result.status, Status::ok) << probability << " " << word(dtype) << " " << seed << ": " << result.reason;
      }
    }
}

TEST(DropoutCheck, AcceptsRowsInWhichNothingIsDropped) {
  const auto undropped = [](const Case& c) {
    Problem p(c);
    drop(p, 0, 1, 1);
    const NumericsResult result = p.check();
    return std::string(result.status == Status::ok ? "" : result.reason);
  };
  EXPECT_EQ(undropped(dropping(1e-6)), "");
  EXPECT_EQ(undropped(with(shaped(1, 1, 1, 16, 16, 16), [](Case& c) { c.dropout = 0.1, c.inputs = Inputs::kv_head; })), "");
  EXPECT_EQ(undropped(with(shaped(1, 1, 1, 16, 16, 16), [](Case& c) { c.dropout = 0.5, c.lengths_kv = {0}; })), "");
  EXPECT_EQ(undropped(dropping(0.1)), "equals the reference with dropout ignored");
}

// A row of scores that their dtype has coarsened may be off by more than a dropped weight moves it.
TEST(DropoutCheck, TakesNoRowForUndroppedWhoseBudgetHidesWhatWasDropped) {
  Problem p(with(shaped(4, 2, 2, 1, 70, 130, DType::bf16), [](Case& c) { c.dropout = 0.1, c.inputs = Inputs::negative_logits; }));
  for (unsigned seed = 0; seed < 20; ++seed) {
    drop(p, 0.1, 1 / 0.9, seed);
    ASSERT_EQ(p.check().reason, "") << seed;
  }
}

TEST(DropoutCheck, ManyDroppedWeightsShowWhereOneWouldNot) {
  Problem p(with(shaped(1, 8, 8, 4, 2000, 16, DType::bf16), [](Case& c) { c.dropout = 0.1; }));
  drop(p, 0, 1, 1);
  EXPECT_EQ(p.check().reason, "equals the reference with dropout ignored");
}

TEST(DropoutCheck, NamesAForgottenScaling) {
  for (const double probability : {0.1, 0.25, 0.5}) {
    Problem p(dropping(probability));
    drop(p, probability, 1, 1);
    EXPECT_THAT(p.check().reason, StartsWith("equals the reference with the scaling of dropout ignored, on average; on average ")) << probability;
  }
}

TEST(DropoutCheck, NamesAnotherProbability) {
  for (const double probability : {0.1, 0.25, 0.5})
    for (const DType dtype : {DType::fp32, DType::bf16})
      for (const double other : {probability / 2, probability / 100}) {
        Problem p(dropping(probability, dtype));
        drop(p, other, 1 / (1 - other), 1);
        EXPECT_THAT(p.check().reason, StartsWith("scatters like dropout of another probability, about 0.")) << probability << " " << other;
      }
  Problem more(dropping(0.1));
  drop(more, 0.2, 1 / 0.8, 1);
  EXPECT_THAT(more.check().reason, ContainsRegex("^scatters like dropout of another probability, about 0.(19|20)"));
}

TEST(DropoutCheck, NamesKeepTakenForDrop) {
  for (const double probability : {0.1, 0.25, 0.4})
    for (const double factor : {1 / probability, 1 / (1 - probability)}) {  // whatever it is scaled by
      Problem p(dropping(probability));
      drop(p, 1 - probability, factor, 1);
      EXPECT_THAT(p.check().reason, StartsWith("equals the reference with keep taken for drop")) << probability << " " << factor;
    }
}

// floor(255 (1 - p)) of 256 random numbers and one more are kept.
TEST(DropoutCheck, AcceptsAProbabilityOfEightBits) {
  for (const double probability : {0.1, 0.17, 0.3}) {
    Problem p(with(shaped(2, 8, 8, 400, 400, 16), [&](Case& c) { c.dropout = probability; }));
    drop(p, 1 - (std::floor(255 * (1 - probability)) + 1) / 256, 1 / (1 - probability), 1);
    EXPECT_EQ(p.check().status, Status::ok) << probability << ": " << p.check().reason;
  }
}

// Rows of weights and values of the test's own: alike, of one heavy key each, or of 1, 2, 3, ... keys; values of many directions or of one.
class Rows {
 public:
  Rows(int shape, std::int64_t columns, std::int64_t count, std::int64_t keys, double p) : columns_(columns), keys_(keys), random_(7) {
    std::normal_distribution<double> normal;
    for (std::int64_t i = 0; i < keys * columns; ++i) values_.push_back(normal(random_) + 0.5);
    for (Evaluation* each : {&expected, &naive}) each->columns = columns;
    for (std::int64_t r = 0; r < count; ++r) {
      std::vector<double> weights(static_cast<std::size_t>(keys));
      double sum = 0;
      for (std::int64_t j = 0; j < keys && (shape < 2 || j <= r % keys); ++j) sum += weights[static_cast<std::size_t>(j)] = std::exp(shape == 1 && j == r % keys ? 3 : 0.3 * normal(random_));
      for (double& weight : weights) weight /= sum;
      weights_.push_back(weights);
      rows.push_back({0, 0, r});
    }
    found.resize(static_cast<std::size_t>(count * columns));
    draw(0, 1);
    expected.out = naive.out = found;
    for (std::size_t r = 0; r < weights_.size(); ++r) {
      double noise = 0, scatter = 0, scatter_squares = 0;
      for (std::size_t j = 0; j < weights_[r].size(); ++j) {
        const auto v = values_.begin() + static_cast<std::ptrdiff_t>(j) * columns;
        double largest = 0, squares = 0;
        for (std::int64_t x = 0; x < columns; ++x) largest = std::max(largest, std::fabs(v[x])), squares += v[x] * v[x];
        const double moved = weights_[r][j] * weights_[r][j] * squares;
        noise += weights_[r][j] * weights_[r][j] * largest * largest;
        scatter += moved, scatter_squares += moved * moved;
      }
      expected.noise.push_back(std::sqrt(noise));
      expected.lse.push_back(0);
      expected.visible.push_back(std::count_if(weights_[r].begin(), weights_[r].end(), [](double weight) { return weight > 0; }));
      expected.scatter.push_back(scatter);
      expected.scatter_squares.push_back(scatter_squares);
    }
    p_ = p;
  }
  void draw(double probability, double factor) {
    std::uniform_real_distribution<float> uniform(0, 1);
    std::fill(found.begin(), found.end(), 0.0);
    for (std::size_t r = 0; r < weights_.size(); ++r)
      for (std::size_t j = 0; j < weights_[r].size(); ++j) {
        if (weights_[r][j] == 0 || static_cast<double>(uniform(random_)) < probability) continue;
        for (std::int64_t x = 0; x < columns_; ++x)
          found[r * static_cast<std::size_t>(columns_) + static_cast<std::size_t>(x)] += weights_[r][j] * factor * values_[j * static_cast<std::size_t>(columns_) + static_cast<std::size_t>(x)];
      }
  }
  std::string reason(double probability) {
    draw(probability, 1 / (1 - probability));
    return check_dropout(found, expected, naive, rows, ATTN_FP32, p_).reason;
  }

  Evaluation expected, naive;
  std::vector<OutputRow> rows;
  std::vector<double> found;

 private:
  std::int64_t columns_, keys_;
  double p_ = 0;
  std::vector<double> values_;
  std::vector<std::vector<double>> weights_;
  std::mt19937 random_;
};

TEST(DropoutCheck, AcceptsWhatIsRightOverManySeedsAndNoOtherProbability) {
  for (const double p : {0.01, 0.1, 0.3, 0.5, 0.9})
    for (const int shape : {0, 1, 2})
      for (const std::int64_t columns : {1, 8})
        for (const std::int64_t count : {24, 800}) {
          Rows rows(shape, columns, count, 24, p);
          for (int seed = 0; seed < 24000 / count; ++seed) ASSERT_EQ(rows.reason(p), "") << "p " << p << ", shape " << shape << ", " << columns << " columns, " << count << " rows";
          if (count < 100 || p < 0.1) continue;
          EXPECT_NE(rows.reason(p / 100), "") << "p " << p << ", shape " << shape << ", " << columns << " columns";
          if (shape == 1) continue;
          EXPECT_NE(rows.reason(p / 2), "") << "p " << p << ", shape " << shape << ", " << columns << " columns";
        }
}

TEST(DropoutCheck, NamesDropoutIgnored) {
  Problem p(dropping(0.25));
  drop(p, 0, 1, 1);
  EXPECT_THAT(p.check().reason, StartsWith("equals the reference with dropout ignored"));
}

TEST(DropoutCheck, FindsOneHeadOfFourThatReadsTheWrongKeys) {
  Problem p(dropping(0.4));
  drop(p, 0.4, 1 / 0.6, 1, 1, 2);
  EXPECT_THAT(p.check().reason, HasSubstr("standard errors from"));
}

TEST(DropoutCheck, FindsARowThatNoDropoutMakes) {
  Problem p(dropping(0.25));
  drop(p, 0.25, 1 / 0.75, 1);
  for (std::int64_t x = 0; x < 16; ++x) p.output.store(0, 3, 150, x, 9.0f);
  EXPECT_THAT(p.check().reason, HasSubstr("(batch 0, head 3, row 150) is further from the reference than dropout explains"));
}

}  // namespace
}  // namespace attn
