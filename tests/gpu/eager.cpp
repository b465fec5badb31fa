#include "eager.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "abi/attn_dtype.hpp"

namespace attn::test {
namespace {

double half_ulp(std::int32_t dtype) { return dtype == ATTN_FP32 ? 0x1p-24 : dtype == ATTN_FP16 ? 0x1p-11 : 0x1p-8; }

float rounded(std::int32_t dtype, double value) {
  float memory = 0;
  store_element(&memory, 0, dtype, static_cast<float>(value));
  return load_element(&memory, 0, dtype);
}

// The row as an eager framework computes it: every step rounded to the case's type. What may be lost by that is what a backend may lose.
Row eager_row(const Problem& problem, std::int64_t b, std::int64_t h, std::int64_t i) {
  const Spec& s = problem.spec();
  const std::int64_t kv_head = h / (s.heads / s.heads_kv), keys = problem.keys(b);
  const std::int64_t offset = s.alignment == ATTN_BOTTOM_RIGHT ? keys - problem.queries(b) : 0;
  Row row;
  row.o.assign(static_cast<std::size_t>(s.head_dim_v), 0.0);
  std::vector<float> score(static_cast<std::size_t>(keys), -std::numeric_limits<float>::infinity());
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t j = 0; j < keys; ++j) {
    if (!sees(problem, b, h, i, j)) continue;
    float x = 0;
    for (std::int64_t d = 0; d < s.head_dim; ++d) x += static_cast<float>(problem.q->get({b, h, i, d})) * static_cast<float>(problem.k->get({b, kv_head, j, d}));
    x = rounded(s.dtype, rounded(s.dtype, x) * problem.problem().scale);
    if (s.softcap != 0) x = rounded(s.dtype, s.softcap * std::tanh(x / s.softcap));
    if (!s.slopes.empty()) x = rounded(s.dtype, x - s.slopes[static_cast<std::size_t>(h)] * static_cast<float>(std::llabs(i + offset - j)));
    if (s.mask == Mask::additive) x = rounded(s.dtype, x + problem.mask->get({b, h, i, j}));
    score[static_cast<std::size_t>(j)] = x;
    largest = std::max(largest, x);
  }
  if (std::isinf(largest)) return row;
  double total = 0;
  for (const float x : score) total += std::exp(static_cast<double>(x - largest));
  for (std::int64_t j = 0; j < keys; ++j) {
    const float weight = rounded(s.dtype, std::exp(static_cast<double>(score[static_cast<std::size_t>(j)] - largest)) / total);
    if (weight == 0.0f) continue;
    for (std::int64_t d = 0; d < s.head_dim_v; ++d) row.o[static_cast<std::size_t>(d)] += weight * problem.v->get({b, kv_head, j, d});
  }
  for (double& x : row.o) x = rounded(s.dtype, x);
  row.lse = largest + std::log(total);
  return row;
}

}  // namespace

Expected expect(const Problem& problem, std::int64_t sample) {
  const Spec& s = problem.spec();
  Expected expected;
  const std::int64_t count = s.batch * s.heads * s.seq_q, step = sample > 0 ? std::max<std::int64_t>(1, count / sample) : 1;
  for (std::int64_t first = 0; first < count; first += step) {
    const std::int64_t n = std::min(first + step, count) - 1;  // the last row is always one of them
    const OutputPlace at{n / s.seq_q / s.heads, n / s.seq_q % s.heads, n % s.seq_q};
    const Row row = reference_row(problem, at.b, at.h, at.i);
    if (s.dtype != ATTN_FP32 && !std::isinf(row.lse)) {
      const Row eager = eager_row(problem, at.b, at.h, at.i);
      for (std::size_t d = 0; d < row.o.size() && row.largest_value > 0; ++d)
        expected.output_error = std::max(expected.output_error, std::fabs(eager.o[d] - row.o[d]) / row.largest_value);
      expected.lse_error = std::max(expected.lse_error, std::fabs(eager.lse - row.lse));
    }
    expected.places.push_back(at);
    expected.rows.push_back(row);
  }
  return expected;
}

void expect_right(const Problem& problem, const Expected& expected, bool fp32_inside) {
  const Spec& s = problem.spec();
  const double rounding = half_ulp(s.dtype), of_steps = fp32_inside ? 0 : 2 * expected.output_error + 2 * rounding, of_lse = fp32_inside ? 0 : 2 * expected.lse_error;
  for (std::size_t n = 0; n < expected.rows.size(); ++n) {
    const Row& row = expected.rows[n];
    const auto [b, h, i] = expected.places[n];
    const std::string place = "row b" + std::to_string(b) + " h" + std::to_string(h) + " i" + std::to_string(i);
    for (std::int64_t d = 0; d < s.head_dim_v && problem.o->has(b, i); ++d) {
      const double right = row.o[static_cast<std::size_t>(d)], got = problem.o->get({b, h, i, d});
      if (std::isnan(right)) ASSERT_TRUE(std::isnan(got)) << place << " d" << d << " is " << got << ", not NaN";
      else ASSERT_NEAR(got, right, (2e-5 + of_steps) * row.largest_value + rounding * std::fabs(right) + 1e-7) << place << " d" << d;
    }
    if (!problem.lse) continue;
    const double lse = problem.lse->get({b, h, i});
    if (std::isinf(row.lse)) ASSERT_EQ(lse, row.lse) << place;
    else ASSERT_NEAR(lse, row.lse, 2e-5 * (1.0 + std::fabs(row.lse)) + of_lse) << place;
  }
}

}  // namespace attn::test
