#pragma once
// Rows that dropout has made random, against the same rows without dropout, which are their mean: dropped weights are 0 and the others are divided by 1 - p.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/reference.hpp"

namespace attn {

struct DropoutFinding {
  std::string reason;     // empty when the rows may well be right
  std::string diagnosis;  // "equals the reference with the scaling of dropout ignored, on average", "... with keep taken for drop",
                          // "scatters like dropout of another probability, about 0.05"
};

// `found`: (rows, columns) as in `expected`, in `dtype`; `naive`: what rounding does to the rows without dropout; `p` the probability, which a generator of eight
// bits gives to 1/256 only (flash-attention). Four questions, each of which a right answer fails less than once in 10^6 runs:
//   How far is a row from its mean? Its deviation is at most sqrt(p / (1 - p)) x noise.
//   Do all rows, and those of each head, lie on their mean, measured along it (a scaling by 1 - p is a shift), and all on theirs along (1, 1, ...)? Each row
//   counts in units of its scatter. The deviation is that of the rows themselves, at least p / (1 - p) |mean|^4 / visible; asked only where some 64 weights
//   that matter were dropped.
//   Are the rows as far from their mean as p says, no more and no less? A row is the mean plus the sum of x_j w_j v_j, x_j of mean 0 and variance o = p / (1 - p):
//   its squared distance is o x scatter on average, its variance at most 2 o^2 scatter^2 + k scatter_squares, k the fourth cumulant of x. Each row counts
//   inversely to that; the sum lies where a gamma distribution of such mean and variance does, with seven standard deviations on both sides.
DropoutFinding check_dropout(const std::vector<double>& found, const Evaluation& expected, const Evaluation& naive, const std::vector<OutputRow>& rows, std::int32_t dtype,
                             double p);

// Whether rows that are within their `budgets` (those of compare) of `expected`, which is without dropout, are so by chance less than once in 10^6 runs. A row is
// when none of the weights that matter, as many as `scatter` says, was dropped, or when what was moves it by less than its budget. Rows that weigh nothing, rows
// of one key and a tiny p, and rows with a budget of what dropout does to them look alike with dropout and without. What is not finite tells nothing.
bool must_show_dropout(const std::vector<double>& found, const Evaluation& expected, const std::vector<double>& budgets, double p);

}  // namespace attn
