#pragma once
// `gates`, `expect` and `waive` of a suite file.

#include <vector>

#include "core/suite.hpp"
#include "yaml/node.hpp"

namespace attn {

// `suite` holds the cases and backends already: what the entries name must be among them. Throw Error at the place of what is wrong.

// One map, which speaks of all rows, or a list of maps that may select some.
std::vector<GateRule> read_gates(const Node& node, const Suite& suite);
std::vector<Expectation> read_expectations(const Node& node, const Suite& suite);
std::vector<Waiver> read_waivers(const Node& node, const Suite& suite);

}  // namespace attn
