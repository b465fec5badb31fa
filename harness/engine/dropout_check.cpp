#include "engine/dropout_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/finding_text.hpp"

namespace attn {
namespace {

constexpr double kMostDeviations = 6, kFewestDrops = 64;

// Sums of independent numbers that are 0 on average.
struct Sum {
  double value = 0, squares = 0, least_variance = 0, rows = 0;
  void add(double each, double variance) {
    value += each;
    squares += each * each;
    least_variance += variance;
    rows += 1;
  }
  bool tells(double p) const { return rows * p >= kFewestDrops; }
  double deviations() const {
    const double variance = std::max(squares, least_variance);
    return variance > 0 ? std::fabs(value) / std::sqrt(variance) : 0;
  }
};

}  // namespace

DropoutFinding check_dropout(const std::vector<double>& found, const Evaluation& expected, const std::vector<OutputRow>& rows, double p) {
  const auto columns = static_cast<std::size_t>(expected.columns);
  const double odds = p / (1 - p), row_limit = 8 * std::sqrt(odds) + 2 * std::max(1.0, odds);
  Sum along, unscaled, all;
  std::map<std::pair<std::int64_t, std::int64_t>, Sum> heads;
  double squares = 0, product = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double* const want = expected.out.data() + r * columns;
    const double* const have = found.data() + r * columns;
    double of_want = 0, of_both = 0, off_squares = 0, off = 0, most = 0;
    for (std::size_t x = 0; x < columns; ++x) {
      of_want += want[x] * want[x];
      of_both += want[x] * have[x];
      off_squares += (have[x] - want[x]) * (have[x] - want[x]);
      off += have[x] - want[x];
      most = std::max(most, std::fabs(want[x]));
    }
    if (std::isnan(of_want) || !std::isfinite(off_squares)) continue;  // a dead row of the policy nan, or what is not finite and told elsewhere
    const double distance = std::sqrt(off_squares / static_cast<double>(columns));
    if (distance > row_limit * expected.noise[r] + 0.02 * most)  // 0.02: the coarsest dtype's own error
      return {fmt::format("(batch {}, head {}, row {}) is further from the reference than dropout explains: {:.3g} on average, at most {:.3g}", rows[r].batch,
                          rows[r].head, rows[r].row, distance, row_limit * expected.noise[r]),
              ""};
    if (of_want == 0 || expected.noise[r] == 0) continue;
    // In units in which all rows scatter alike, so that the few rows with few keys do not decide alone.
    const double unit = std::sqrt(of_want) * expected.noise[r];
    const double variance = odds * of_want * of_want / static_cast<double>(std::max<std::int64_t>(1, expected.visible[r])) / (unit * unit);
    along.add((of_both - of_want) / unit, variance);
    heads[{rows[r].batch, rows[r].head}].add((of_both - of_want) / unit, variance);
    unscaled.add((of_both - (1 - p) * of_want) / unit, variance);
    all.add(off / expected.noise[r], 0);
    squares += of_want;
    product += of_both;
  }
  if (along.tells(p) && along.deviations() > kMostDeviations) {
    DropoutFinding finding{fmt::format("on average {:.4g} times the reference without dropout, {:.3g} standard errors from 1", product / squares, along.deviations()), ""};
    if (unscaled.deviations() <= kMostDeviations) finding.diagnosis = "equals the reference with the scaling of dropout ignored, on average";
    return finding;
  }
  if (all.tells(p) && all.deviations() > kMostDeviations)
    return {fmt::format("the mean of all elements is {:.3g} standard errors from that of the reference without dropout", all.deviations()), ""};
  for (const auto& [head, sum] : heads)
    if (sum.tells(p) && sum.deviations() > kMostDeviations)
      return {fmt::format("(batch {}, head {}) is {:.3g} standard errors from the reference without dropout", head.first, head.second, sum.deviations()), ""};
  return {};
}

}  // namespace attn
