#include "stats/interval.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/summary.hpp"

namespace attn {
namespace {

// Regularised incomplete beta function I_x(a, b) by its continued fraction (DLMF 8.17.22), evaluated by Lentz's method.
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);
  constexpr double kTiny = 1e-300;
  double c = 1, d = 1 / std::max(1 - (a + b) * x / (a + 1), kTiny), fraction = d;
  for (int m = 1; m < 500; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    for (const double term : {even, odd}) {
      d = 1 + term * d;
      c = 1 + term / c;
      d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
      if (std::fabs(c) < kTiny) c = kTiny;
      fraction *= c * d;
    }
    if (std::fabs(c * d - 1) < 1e-15) break;
  }
  return fraction * std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x)) / a;
}

bool usable(std::span<const double> values) {
  return !values.empty() && std::ranges::all_of(values, [](double value) { return std::isfinite(value) && value > 0; });
}

struct Logs {
  double mean = 0, squares = 0;  // sum of squared deviations
};

Logs logs_of(std::span<const double> values) {
  Logs logs;
  for (const double value : values) logs.mean += std::log(value) / static_cast<double>(values.size());
  for (const double value : values) logs.squares += std::pow(std::log(value) - logs.mean, 2);
  return logs;
}

}  // namespace

double student_quantile(double p, double freedom) {
  const auto probability = [&](double t) { return 1 - 0.5 * incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)); };
  double low = 0, high = 1;
  while (probability(high) < p && high < 1e12) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2;
    (probability(middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

double rank_sum_probability(std::size_t u, std::size_t n, std::size_t m) {
  if (u >= n * m) return 1;
  // How many of the C(n + m, n) orders give each value of U: the coefficients of the Gaussian binomial, the product of (1 - q^(m + i)) / (1 - q^i).
  std::vector<double> ways(u + 1, 0.0);
  ways[0] = 1;
  double all = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t k = u; k + 1 > m + i; --k) ways[k] -= ways[k - m - i];
    for (std::size_t k = i; k <= u; ++k) ways[k] += ways[k - i];
    all *= static_cast<double>(m + i) / static_cast<double>(i);
  }
  double sum = 0;
  for (const double each : ways) sum += each;
  return sum / all;
}

Interval ratio_interval(std::span<const double> now, std::span<const double> before, double confidence) {
  Interval interval;
  if (!usable(now) || !usable(before)) return interval;
  std::vector<double> ratios;
  for (const double a : now)
    for (const double b : before) ratios.push_back(a / b);
  std::ranges::sort(ratios);
  interval.estimate = median(ratios);

  const double tail = (1 - confidence) / 2;
  const std::size_t n = now.size(), m = before.size();
  std::size_t cut = 0;  // ratios that may be left out at each end
  while (2 * (cut + 1) < ratios.size() && rank_sum_probability(cut, n, m) <= tail) ++cut;
  if (cut > 0) {
    interval.low = ratios[cut - 1];
    interval.high = ratios[ratios.size() - cut];
    return interval;
  }
  const auto freedom = static_cast<double>(n + m) - 2;
  if (freedom < 1) return interval;
  const Logs a = logs_of(now), b = logs_of(before);
  const double error = std::sqrt((a.squares + b.squares) / freedom * (1 / static_cast<double>(n) + 1 / static_cast<double>(m)));
  const double half = student_quantile(1 - tail, freedom) * error;
  interval.low = std::min(std::exp(a.mean - b.mean - half), interval.estimate);
  interval.high = std::max(std::exp(a.mean - b.mean + half), interval.estimate);
  return interval;
}

Interval widened(const Interval& interval, double now, double before, double step) {
  if (!(step > 0) || !(now > 0) || !(before > 0)) return interval;
  Interval wide = interval;
  const double half = step / 2;
  wide.low *= std::max(now - half, 0.0) / now * before / (before + half);
  wide.high *= before > half ? (now + half) / now * before / (before - half) : std::numeric_limits<double>::infinity();
  return wide;
}

}  // namespace attn
