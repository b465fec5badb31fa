#pragma once
// Cases that differ in one size alone, so that what grows with that size can be followed.

#include <cstdint>
#include <string>
#include <vector>

#include "core/suite.hpp"

namespace attn {

// Sizes that a suite sets together count as one as long as they grow in proportion: seq_q with seq_kv for `seq`, heads_kv with heads, head_dim_v with head_dim.
std::int64_t size_of(const Case& value, SizeAxis axis);
// The same text for cases that differ in that size alone.
std::string size_family(const Case& value, SizeAxis axis);

// The sizes that a sweep `{sweep: around N}` may move, alone or together.
const std::vector<std::vector<std::int64_t Case::*>>& sweep_directions();
// The id of the case that has these sizes larger by `by`.
std::string moved_case_id(Case value, const std::vector<std::int64_t Case::*>& sizes, std::int64_t by);

// Two sizes closer than this say little: a tile or a page more would look like a steep slope.
inline constexpr std::int64_t kSizesApart = 2;

// Of `cases` the one of the same family with the largest size that is at most half of `value`'s; null when there is none.
const SuiteCase* smaller_case(const Case& value, SizeAxis axis, const std::vector<SuiteCase>& cases);

}  // namespace attn
