#pragma once
// Rows that dropout has made random, against the same rows without dropout, which are their mean: dropped weights are 0 and the others are divided by 1 - p.

#include <string>
#include <vector>

#include "engine/reference.hpp"

namespace attn {

struct DropoutFinding {
  std::string reason;     // empty when the rows may well be right
  std::string diagnosis;  // "equals the reference with the scaling of dropout ignored, on average"
};

// `found`: (rows, columns) as in `expected`; `p` the probability. Three questions, each of which a right answer fails less than once in 10^6 runs:
//   How far is a row from its mean? Its deviation is at most sqrt(p / (1 - p)) x noise.
//   Do all rows, and those of each head, lie on their mean, measured along it (a scaling by 1 - p is a shift), and all on theirs along (1, 1, ...)? Each row
//   counts in units of its scatter. The deviation is that of the rows themselves, at least p / (1 - p) |mean|^4 / visible; asked only where some 64 weights
//   that matter were dropped.
DropoutFinding check_dropout(const std::vector<double>& found, const Evaluation& expected, const std::vector<OutputRow>& rows, double p);

}  // namespace attn
