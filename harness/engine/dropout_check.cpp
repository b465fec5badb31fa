#include "engine/dropout_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/comparison.hpp"
#include "engine/finding_text.hpp"

namespace attn {
namespace {

constexpr double kMostDeviations = 6, kFewestDrops = 64, kMostDeviationsOfSquares = 7;
constexpr double kCoarseness = 1.0 / 256;  // of p

double odds_of(double p) { return p / (1 - p); }

// Whether a row's weights are large enough that none need be flushed to zero.
bool is_felt(double scatter) { return scatter > kFlushed * kFlushed; }

// Sums of independent numbers that are 0 on average.
struct Sum {
  double value = 0, squares = 0, least_variance = 0, rows = 0, means = 0;
  // `mean`: what `each` was measured against; where p is coarse all rows are off by a share of theirs.
  void add(double each, double variance, double mean) {
    value += each;
    squares += each * each;
    least_variance += variance;
    rows += 1;
    means += mean;
  }
  bool tells(double p) const { return rows * p >= kFewestDrops; }
  double deviations(double p) const {
    const double variance = std::max(squares, least_variance), coarse = kCoarseness / (1 - p) * std::fabs(means);
    return variance > 0 ? std::max(0.0, std::fabs(value) - coarse) / std::sqrt(variance) : 0;
  }
};

// Squared distances of independent rows from their means, and between what they may lie should dropout have some probability.
class Squares {
 public:
  explicit Squares(double p) : p_(p) {}
  // `square`: the distance; `rounding`: what of it may be that of the dtype.
  void add(double square, double rounding, double scatter, double scatter_squares) {
    const double fourth = scatter_squares / (scatter * scatter), weight = 1 / variance_of(p_, 1, fourth);
    found_ += weight * square / scatter;
    rounding_ += weight * rounding / scatter;
    weights_ += weight;
    weight_squares_ += weight * weight;
    fourths_ += weight * weight * fourth;
  }
  bool fits(double p) const {
    return found_ >= limit(std::max(0.0, p - kCoarseness), -kMostDeviationsOfSquares) &&
           found_ <= limit(std::min(p + kCoarseness, (p + 1) / 2), kMostDeviationsOfSquares) + rounding_;
  }
  // The probability that fits best.
  double probability() const {
    const double odds = found_ / weights_;
    return odds / (1 + odds);
  }

 private:
  static double variance_of(double p, double squares, double fourths) {
    const double odds = odds_of(p), fourth_cumulant = p * (1 - 6 * p * (1 - p)) / std::pow(1 - p, 3);
    return 2 * odds * odds * squares + std::max(0.0, fourth_cumulant) * fourths;
  }
  // Quantiles of a gamma distribution of the sum's mean and variance (Wilson and Hilferty, "The distribution of chi-square", PNAS 17, 1931).
  double limit(double p, double deviations) const {
    const double mean = odds_of(p) * weights_;
    if (mean == 0) return 0;
    const double shape = mean * mean / variance_of(p, weight_squares_, fourths_);
    return mean * std::pow(std::max(0.0, 1 - 1 / (9 * shape) + deviations / (3 * std::sqrt(shape))), 3);
  }

  double p_, found_ = 0, rounding_ = 0, weights_ = 0, weight_squares_ = 0, fourths_ = 0;
};

}  // namespace

DropoutFinding check_dropout(const std::vector<double>& found, const Evaluation& expected, const Evaluation& naive, const std::vector<OutputRow>& rows, std::int32_t dtype,
                             double p) {
  const auto columns = static_cast<std::size_t>(expected.columns);
  const double odds = odds_of(p), row_limit = 8 * std::sqrt(odds) + 2 * std::max(1.0, odds);
  Sum along, unscaled, swapped, all;
  std::map<std::pair<std::int64_t, std::int64_t>, Sum> heads;
  Squares distances(p);
  const std::vector<double> budgets = compare(found, expected, naive, dtype).budgets;
  std::string far;
  double squares = 0, product = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double* const want = expected.out.data() + r * columns;
    const double* const have = found.data() + r * columns;
    const double* const rounded = naive.out.data() + r * columns;
    double of_want = 0, of_both = 0, off_squares = 0, off = 0, most = 0, sum = 0, rounding = 0;
    for (std::size_t x = 0; x < columns; ++x) {
      of_want += want[x] * want[x];
      of_both += want[x] * have[x];
      off_squares += (have[x] - want[x]) * (have[x] - want[x]);
      off += have[x] - want[x];
      sum += want[x];
      most = std::max(most, std::fabs(want[x]));
      const double error = std::fabs(rounded[x] - want[x]), step = ulp(have[x], dtype);
      rounding += (4 * error * error + step * step) / ((1 - p) * (1 - p));
    }
    if (std::isnan(of_want) || !std::isfinite(off_squares)) continue;  // a dead row of the policy nan, or what is not finite and told elsewhere
    const double distance = std::sqrt(off_squares / static_cast<double>(columns));
    const double most_distance = row_limit * expected.noise[r] + std::max(0.02 * most, budgets[r] / (1 - p));  // 0.02: the coarsest dtype's own error
    if (far.empty() && distance > most_distance)
      far = fmt::format("(batch {}, head {}, row {}) is further from the reference than dropout explains: {:.3g} on average, at most {:.3g}", rows[r].batch,
                        rows[r].head, rows[r].row, distance, most_distance);
    if (!expected.scatter.empty() && is_felt(expected.scatter[r]) && std::isfinite(rounding)) distances.add(off_squares, rounding, expected.scatter[r], expected.scatter_squares[r]);
    if (of_want == 0 || expected.noise[r] <= kFlushed) continue;
    // In units in which all rows scatter alike, so that the few rows with few keys do not decide alone.
    const double unit = std::sqrt(of_want) * expected.noise[r], mean = of_want / unit;
    const double variance = odds * of_want * of_want / static_cast<double>(std::max<std::int64_t>(1, expected.visible[r])) / (unit * unit);
    along.add((of_both - of_want) / unit, variance, mean);
    heads[{rows[r].batch, rows[r].head}].add((of_both - of_want) / unit, variance, mean);
    unscaled.add((of_both - (1 - p) * of_want) / unit, variance, mean);
    swapped.add((of_both - odds * of_want) / unit, variance, mean);
    all.add(off / expected.noise[r], 0, sum / expected.noise[r]);
    squares += of_want;
    product += of_both;
  }
  const char* const swap = "equals the reference with keep taken for drop";
  const bool swap_fits = p != 0.5 && !distances.fits(p) && distances.fits(1 - p);
  if (!far.empty()) return {far, swap_fits ? swap : ""};
  if (along.tells(p) && along.deviations(p) > kMostDeviations) {
    DropoutFinding finding{fmt::format("on average {:.4g} times the reference without dropout, {:.3g} standard errors from 1", product / squares, along.deviations(p)), ""};
    const double of_swapped = p == 0.5 ? kMostDeviations : swapped.deviations(p);
    if (of_swapped < std::min(kMostDeviations, unscaled.deviations(p))) finding.diagnosis = swap;
    else if (unscaled.deviations(p) <= kMostDeviations) finding.diagnosis = "equals the reference with the scaling of dropout ignored, on average";
    return finding;
  }
  if (all.tells(p) && all.deviations(p) > kMostDeviations)
    return {fmt::format("the mean of all elements is {:.3g} standard errors from that of the reference without dropout", all.deviations(p)), ""};
  for (const auto& [head, sum] : heads)
    if (sum.tells(p) && sum.deviations(p) > kMostDeviations)
      return {fmt::format("(batch {}, head {}) is {:.3g} standard errors from the reference without dropout", head.first, head.second, sum.deviations(p)), ""};
  if (!distances.fits(p))
    return {fmt::format("rows are as far from the reference without dropout as p = {:.3g} puts them, {:.3g} was asked", distances.probability(), p),
            swap_fits ? swap : fmt::format("scatters like dropout of another probability, about {:.3g}", distances.probability())};
  return {};
}

bool must_show_dropout(const std::vector<double>& found, const Evaluation& expected, const std::vector<double>& budgets, double p) {
  constexpr double kByChance = 1e-6;
  const auto columns = static_cast<double>(expected.columns);
  double log_chance = 0;
  for (std::size_t row = 0; row < expected.scatter.size(); ++row) {
    const double scatter = expected.scatter[row], squares = expected.scatter_squares[row];
    const auto first = found.begin() + static_cast<std::ptrdiff_t>(row) * expected.columns;
    if (!is_felt(scatter) || !std::all_of(first, first + expected.columns, [](double each) { return std::isfinite(each); })) continue;
    const double weights = scatter * scatter / squares, undropped = std::exp(weights * std::log1p(-p));
    const double moved = std::sqrt(std::max(1.0, weights * odds_of(p)) * squares / scatter / columns);  // in a column, by one dropped weight or by all of them
    log_chance += std::log(undropped + (1 - undropped) * std::min(1.0, budgets[row] / moved));
  }
  return log_chance < std::log(kByChance);
}

}  // namespace attn
