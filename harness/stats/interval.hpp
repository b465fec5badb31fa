#pragma once
// How far two samples of times lie apart, as a ratio with an interval that is honest about few samples.

#include <cstddef>
#include <limits>
#include <span>

namespace attn {

// A ratio new/old; 1.0 means equal. Without knowledge: 0 to infinity.
struct Interval {
  double estimate = 1, low = 0, high = std::numeric_limits<double>::infinity();
  bool operator==(const Interval&) const = default;
};

// The ratio of two samples of positive times, one value per independent block, with a two-sided interval of at least `confidence`.
//
// Estimate: the median of all pairwise ratios (Hodges and Lehmann 1963, "Estimates of location based on rank tests"). Interval: the ratios cut off by the
// exact distribution of the rank-sum statistic (Mann and Whitney 1947; Moses 1965), which assumes nothing about the shape of the noise and lets one odd
// block pass, where the sample sizes allow that confidence (4 against 4, 3 against 5, ... for 95 %). Below that: Student's t on the logarithms with pooled
// variance, which knows how unsure a variance of few values is. One value against one: an unlimited interval.
// Deterministic; the order within a sample never matters. Throws nothing; empty samples or values <= 0 give an unlimited interval.
Interval ratio_interval(std::span<const double> now, std::span<const double> before, double confidence = 0.95);

// Widened by a clock's resolution: each true time lies within half a step of what was read.
Interval widened(const Interval& interval, double now, double before, double step);

// The quantile of Student's t with `freedom` degrees: t with P(T <= t) = p, for p in [0.5, 1).
double student_quantile(double p, double freedom);
// P(U <= u) of the rank-sum statistic for samples of n and m values without ties.
double rank_sum_probability(std::size_t u, std::size_t n, std::size_t m);

}  // namespace attn
