#pragma once
// Axes: where a suite writes a list in place of one value, {axis: [...]} or {sweep: around N}, the product of all of them is taken.

#include <functional>
#include <string_view>
#include <vector>

#include "yaml/nearest.hpp"
#include "yaml/node.hpp"

namespace attn {

inline constexpr std::size_t kMostCases = 10'000;

// Which places of a field are lists or sizes by nature; paths as in "lengths.kv".
struct FieldNature {
  WordList lists;   // a list there is one value; alternatives take {axis: [[...], [...]]}
  WordList sizes;   // {sweep: around N} may stand there
};

// The values that a field takes in turn, each free of axes; nested maps give their product, what stands first varies slowest.
// Throws Error when a list of alternatives is empty or holds lists, and beyond kMostCases.
std::vector<Node> alternatives(const Node& field, std::string_view path, const FieldNature& nature);

// Calls `visit` with every combination of one choice per axis; the last axis varies fastest. Stops at the first exception.
void each_combination(const std::vector<std::vector<Node>>& axes, const std::function<void(const std::vector<const Node*>&)>& visit);

// The number of combinations, or kMostCases + 1 when there are more than kMostCases.
std::size_t combinations(const std::vector<std::vector<Node>>& axes);

}  // namespace attn
