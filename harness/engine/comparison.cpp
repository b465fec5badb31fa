#include "engine/comparison.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/inputs.hpp"

namespace attn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Precision {
  int mantissa, smallest_exponent;
};
Precision precision_of(std::int32_t dtype) {
  switch (dtype) {
    case ATTN_FP32: return {23, -126};
    case ATTN_FP16: return {10, -14};
    case ATTN_BF16: return {7, -126};
    case ATTN_FP8_E4M3: return {3, -6};
    default: return {2, -14};
  }
}

// Naive error per noise, by octave of the number of visible keys: rows with as many keys err alike. Buried rows, or all others.
class NaiveError {
 public:
  NaiveError(const Evaluation& expected, const Evaluation& naive, std::int32_t dtype, bool buried)
      : unit_(std::ldexp(1.0, -precision_of(dtype).mantissa - 1) + 0x1p-22), buried_(buried) {
    std::array<double, kOctaves> largest{};
    std::array<std::size_t, kOctaves> rows{};
    for (std::size_t row = 0; row < expected.lse.size(); ++row) {
      if (expected.noise[row] == 0 || is_buried(expected.lse[row], dtype) != buried) continue;
      double error = 0;
      for (std::size_t i = row * static_cast<std::size_t>(expected.columns); i < (row + 1) * static_cast<std::size_t>(expected.columns); ++i) {
        const double difference = std::fabs(naive.out[i] - expected.out[i]);
        if (std::isfinite(difference)) error = std::max(error, difference);
      }
      const std::size_t octave = octave_of(expected.visible[row]);
      largest[octave] = std::max(largest[octave], error / expected.noise[row]);
      ++rows[octave];
    }
    // An octave may hold few rows, all of them lucky (the last keys of a causal mask are seen by one query of each head): neighbours count too, and as many of
    // them as it takes to have a sample. Rows of a case that has not even that many share their luck, and say half as much.
    for (std::size_t i = 0; i < kOctaves; ++i) {
      per_noise_[i] = largest[i];
      std::size_t sample = rows[i];
      for (std::size_t away = 1; away < kOctaves && (away == 1 || sample < kSample); ++away) {
        if (i >= away) per_noise_[i] = std::max(per_noise_[i], largest[i - away]), sample += rows[i - away];
        if (i + away < kOctaves) per_noise_[i] = std::max(per_noise_[i], largest[i + away]), sample += rows[i + away];
      }
      if (sample < kSample) per_noise_[i] *= 2;
    }
  }
  double of(const Evaluation& expected, std::size_t row) const { return std::max(per_noise_[octave_of(expected.visible[row])] * expected.noise[row], least(expected, row)); }

  // What a row may err by however lucky the naive one was (probes whose products are exact, gradients that cancel to 0): a rounding of the weights to the dtype,
  // and a few of the sums in fp32; and of the scores. Buried rows have lost their scores to rounding.
  double least(const Evaluation& expected, std::size_t row) const {
    const double size = !expected.score_size.empty() ? expected.score_size[row] : std::fabs(expected.lse[row] - std::log(static_cast<double>(expected.visible[row])));
    return unit_ * (std::isfinite(size) && !buried_ ? 1 + size : 1) * expected.noise[row];
  }

 private:
  double unit_;
  bool buried_;
  static constexpr std::size_t kOctaves = 65, kSample = 8;  // rows
  static std::size_t octave_of(std::int64_t visible) { return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(visible))); }
  std::array<double, kOctaves> per_noise_{};
};

}  // namespace

bool is_buried(double lse, std::int32_t dtype) { return std::isfinite(lse) && lse < lowest_finite(dtype) / 2; }

double ulp(double value, std::int32_t dtype) {
  const Precision precision = precision_of(dtype);
  const double magnitude = std::fabs(value);
  const int exponent = magnitude > 0 && std::isfinite(magnitude) ? std::ilogb(magnitude) : precision.smallest_exponent;
  return std::ldexp(1.0, std::max(exponent, precision.smallest_exponent) - precision.mantissa);
}

Comparison compare(const std::vector<double>& found, const Evaluation& expected, const Evaluation& naive, std::int32_t dtype) {
  Comparison result;
  const std::size_t rows = expected.lse.size();
  const auto columns = static_cast<std::size_t>(expected.columns);
  const NaiveError of_buried(expected, naive, dtype, true), of_others(expected, naive, dtype, false);
  result.off.assign(rows, false);
  // A quarter of the largest error is about the mean one of random roundings; that of few rows may lie well above.
  const double mean_share = std::min(1.0, (1 + 3 / std::sqrt(static_cast<double>(rows))) / 4);
  double worst_ratio = -1, errors = 0, naive_errors = 0, ulps = 0, error_squares = 0, squares = 0, elements = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const double* const want = expected.out.data() + row * columns;
    const double* const have = found.data() + row * columns;
    double largest = 0;
    for (std::size_t x = 0; x < columns; ++x) largest = std::max(largest, std::fabs(want[x]));
    // A dead row of the policy zero weighs nothing and is exactly 0.
    const bool exact = expected.noise[row] == 0 && largest == 0;
    const bool buried = is_buried(expected.lse[row], dtype);
    const double two_ulp = exact ? 0 : 2 * ulp(largest, dtype) + kFlushed, budget = 2 * (buried ? of_buried : of_others).of(expected, row) + two_ulp;
    result.budgets.push_back(budget);
    for (std::size_t x = 0; x < columns; ++x) {
      const bool both_nan = std::isnan(want[x]) && std::isnan(have[x]);
      double error = std::fabs(have[x] - want[x]);
      if (both_nan) error = 0;
      else if (std::isnan(error)) error = kInfinity;
      const double ratio = error == 0 ? 0 : error / budget;  // infinite for a budget of 0
      if (ratio > worst_ratio) {
        worst_ratio = ratio;
        result.worst_row = row;
        result.worst_column = static_cast<std::int64_t>(x);
        result.worst_budget = budget;
      }
      if (ratio > 1) result.off[row] = true;
      if (error > result.max_error || (row == 0 && x == 0)) {
        result.max_error = error;
        result.max_error_budget = budget;
      }
      if (both_nan) continue;
      if (!buried) {
        elements += 1;
        errors += error;
        ulps += two_ulp;
        if (const double each = std::fabs(naive.out[row * columns + x] - want[x]); std::isfinite(each))
          naive_errors += std::max(each, of_others.least(expected, row) * mean_share);
      }
      error_squares += error * error;
      squares += want[x] * want[x];
    }
  }
  if (elements > 0) {
    result.mean_error = errors / elements;
    result.mean_budget = (2 * naive_errors + ulps) / elements;
  }
  result.rel_error = error_squares == 0 ? 0 : std::sqrt(error_squares / squares);
  result.right = std::find(result.off.begin(), result.off.end(), true) == result.off.end() && result.mean_error <= result.mean_budget;
  return result;
}

}  // namespace attn
