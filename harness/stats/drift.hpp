#pragma once
// Does a series move in one direction while it is measured (heat, throttling, a leak)?

#include <span>

namespace attn {

struct Trend {
  double rise = 1;         // last over first along the median slope (Theil 1950, Sen 1968)
  double probability = 1;  // of so one-sided an order by chance, exact (Mann 1945, Kendall 1938); two-sided
};

// `values` in the order in which they were measured, all > 0. Fewer than three: no trend.
Trend trend(std::span<const double> values);

// Median of the last third over the median of the first third; 1 for fewer than three values.
double thirds_ratio(std::span<const double> values);

}  // namespace attn
