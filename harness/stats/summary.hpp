#pragma once
// Numbers to numbers: the summaries of one sample.

#include <span>
#include <vector>

namespace attn {

// All of them: NaN for an empty sample; the order of the values never matters.
double median(std::span<const double> values);
// Linear between order statistics (type 7 of Hyndman and Fan 1996); `p` in [0, 1].
double quantile(std::span<const double> values, double p);
// Median absolute deviation times 1.4826: the standard deviation, if the values were normal and the outliers not there.
double robust_deviation(std::span<const double> values);
// Standard deviation over mean, n - 1 in the denominator; NaN for fewer than two values.
double variation(std::span<const double> values);

// The step of the grid on which all values lie, when the sample shows one: values repeat and all are multiples of one step. 0 when it shows none.
// A continuous clock never gives the same number twice, so repeated values are what a coarse clock looks like.
double grid_step(std::span<const double> values);

}  // namespace attn
