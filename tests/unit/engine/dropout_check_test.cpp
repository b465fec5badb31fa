#include "engine/dropout_check.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "problem.hpp"

namespace attn {
namespace {

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

TEST(DropoutCheck, NamesAForgottenScaling) {
  for (const double probability : {0.1, 0.25, 0.5}) {
    Problem p(dropping(probability));
    drop(p, probability, 1, 1);
    EXPECT_THAT(p.check().reason, StartsWith("equals the reference with the scaling of dropout ignored, on average; on average ")) << probability;
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
