#include "stats/drift.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/summary.hpp"

namespace attn {

Trend trend(std::span<const double> values) {
  Trend trend;
  const std::size_t n = values.size();
  if (n < 3) return trend;
  std::vector<double> slopes;  // of the logarithms: a rise is a ratio
  long long rises = 0, falls = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) {
      slopes.push_back(std::log(values[j] / values[i]) / static_cast<double>(j - i));
      rises += values[j] > values[i];
      falls += values[j] < values[i];
    }
  trend.rise = std::exp(median(slopes) * static_cast<double>(n - 1));

  // Orders by their number of inversions (Mahonian numbers), as probabilities. A tie counts as half an inversion, which is never too sure.
  const auto pairs = static_cast<long long>(n * (n - 1) / 2);
  const long long inversions = (pairs - std::abs(rises - falls) + 1) / 2;
  std::vector<double> share(static_cast<std::size_t>(pairs) + 1, 0.0);
  share[0] = 1;
  for (std::size_t i = 2; i <= n; ++i) {
    std::vector<double> next(share.size(), 0.0);
    for (std::size_t k = 0; k < share.size(); ++k)
      for (std::size_t added = 0; added < i && k + added < next.size(); ++added) next[k + added] += share[k] / static_cast<double>(i);
    share = std::move(next);
  }
  double probability = 0;
  for (long long k = 0; k <= inversions; ++k) probability += share[static_cast<std::size_t>(k)];
  trend.probability = std::min(1.0, 2 * probability);
  return trend;
}

double thirds_ratio(std::span<const double> values) {
  if (values.size() < 3) return 1;
  const std::size_t third = values.size() / 3;
  return median(values.last(third)) / median(values.first(third));
}

}  // namespace attn
