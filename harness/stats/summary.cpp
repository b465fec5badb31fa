#include "stats/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace attn {

double quantile(std::span<const double> values, double p) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const double at = std::clamp(p, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

double robust_deviation(std::span<const double> values) {
  const double middle = median(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::fabs(value - middle));
  return 1.4826 * median(distances);
}

double variation(std::span<const double> values) {
  if (values.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  for (const double value : values) squares += (value - sum / n) * (value - sum / n);
  return std::sqrt(squares / (n - 1)) / (sum / n);
}

double grid_step(std::span<const double> values) {
  const std::set<double> distinct(values.begin(), values.end());
  if (distinct.size() == values.size()) return 0;
  const double greatest = *distinct.rbegin(), negligible = greatest * 1e-9;
  double step = 0;
  for (double other : distinct) {
    // Euclid; what rounding leaves over counts as nothing.
    while (other > negligible) {
      step = std::fmod(step, other);
      if (other - step <= negligible) step = 0;
      std::swap(step, other);
    }
  }
  return step;
}

}  // namespace attn
