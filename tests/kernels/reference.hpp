#pragma once
// Attention written as its definition, one row at a time in double precision: slow, plain, and independent of every backend.

#include <cmath>
#include <limits>
#include <vector>

#include "problem.hpp"

namespace attn::test {

struct Row {
  std::vector<double> o;
  double lse = -std::numeric_limits<double>::infinity();
  double largest_value = 0;  // max |v| over the visible keys: what an error is measured by
};

inline bool sees(const Problem& problem, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  const Spec& s = problem.spec();
  const std::int64_t offset = s.alignment == ATTN_BOTTOM_RIGHT ? problem.keys(b) - problem.queries(b) : 0, own = i + offset;
  if (i >= problem.queries(b) || j >= problem.keys(b)) return false;
  if (s.mask == Mask::causal && j > own) return false;
  if (s.window_left >= 0 && j < own - s.window_left) return false;
  if (s.window_right >= 0 && j > own + s.window_right) return false;
  if (s.mask == Mask::boolean && problem.mask->get({b, h, i, j}) == 0) return false;
  return !(s.mask == Mask::additive && problem.mask->get({b, h, i, j}) == -std::numeric_limits<double>::infinity());
}

inline Row reference_row(const Problem& problem, std::int64_t b, std::int64_t h, std::int64_t i) {
  const Spec& s = problem.spec();
  const std::int64_t kv_head = h / (s.heads / s.heads_kv), keys = problem.keys(b);
  Row row;
  row.o.assign(static_cast<std::size_t>(s.head_dim_v), 0.0);
  if (i >= problem.queries(b)) return row;
  std::vector<double> score(static_cast<std::size_t>(keys));
  std::vector<bool> visible(static_cast<std::size_t>(keys));
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < keys; ++j) {
    const auto n = static_cast<std::size_t>(j);
    visible[n] = sees(problem, b, h, i, j);
    if (!visible[n]) continue;
    double x = 0;
    for (std::int64_t d = 0; d < s.head_dim; ++d) x += problem.q->get({b, h, i, d}) * problem.k->get({b, kv_head, j, d});
    x *= problem.problem().scale;
    if (s.softcap != 0) x = s.softcap * std::tanh(x / s.softcap);
    if (!s.slopes.empty()) {
      const std::int64_t offset = s.alignment == ATTN_BOTTOM_RIGHT ? keys - problem.queries(b) : 0;
      x -= static_cast<double>(s.slopes[static_cast<std::size_t>(h)]) * static_cast<double>(std::llabs(i + offset - j));
    }
    if (s.mask == Mask::additive) x += problem.mask->get({b, h, i, j});
    score[n] = x;
    largest = std::max(largest, x);
  }
  const bool dead = std::isinf(largest);
  double total = 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    const auto n = static_cast<std::size_t>(j);
    const double weight = dead ? 1.0 : visible[n] ? std::exp(score[n] - largest) : 0.0;
    if (weight == 0.0) continue;
    total += weight;
    for (std::int64_t d = 0; d < s.head_dim_v; ++d) {
      const double value = problem.v->get({b, kv_head, j, d});
      row.o[static_cast<std::size_t>(d)] += weight * value;
      row.largest_value = std::max(row.largest_value, std::fabs(value));
    }
  }
  for (double& x : row.o) {
    if (!dead) x /= total;
    else if (s.dead_rows == ATTN_DEAD_NAN) x = std::numeric_limits<double>::quiet_NaN();
    else x = s.dead_rows == ATTN_DEAD_MEAN && total > 0 ? x / total : 0.0;
  }
  if (!dead) row.lse = largest + std::log(total);
  return row;
}

}  // namespace attn::test
