#pragma once
// `defaults` and `cases` of a suite file to cases: the product of the axes of each entry, checked.

#include <vector>

#include "core/suite.hpp"
#include "yaml/node.hpp"

namespace attn {

// In the order of the file; of one entry, the axis written first varies slowest, and axes of the defaults vary slower than the entry's own.
// `defaults` may be null. Throws Error at the entry for an impossible combination, at the second of two cases with one id, and beyond kMostCases.
std::vector<SuiteCase> read_cases(const Node& cases, const Node* defaults);

}  // namespace attn
