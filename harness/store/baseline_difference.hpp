#pragma once
// What changed between two baselines of one row, in words.

#include <string>
#include <vector>

#include "core/baseline.hpp"

namespace attn {

// One line per thing that changed, each begun with the row it speaks of: "llama3-8b/prefill:... naive: copies 1 -> 2, device_ns 1.23 ms -> 2.46 ms (2.00x)".
// The first line sums up; kernels that came or went, libraries and switches that changed follow, indented. Empty when nothing but the date changed.
std::vector<std::string> difference(const Baseline& before, const Baseline& after);

// "1.23 ms"; 3 significant digits.
std::string readable_ns(double ns);

}  // namespace attn
