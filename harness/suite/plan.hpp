#pragma once
// Suites to trials: which cases run on which backends, in which order.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/suite.hpp"

namespace attn {

// One of `count` parts, `index` counts from 1.
struct Shard {
  std::int64_t index = 1, count = 1;
};

// "2/4". Throws Error.
Shard parse_shard(std::string_view text);

struct Selection {
  std::vector<std::string> filters{};   // expressions searched in case id, name and tags: any must be found, none that begins with '-' may
  std::vector<std::string> backends{};  // empty: all
  Shard shard{};
  std::optional<std::uint64_t> order_seed{};  // empty: the suite's order, the backends of a case one after the other
};

// The trials of each suite, in the order in which they shall run; their indices count through all suites. Shards part the cases by a hash of their ids, so
// that the parts stay the same when a suite grows, and all backends of a case are in one part. Throws Error for an expression that is none, a backend that no
// suite lists, and two suites of one name.
std::vector<std::vector<Trial>> plan(const std::vector<Suite>& suites, const Selection& selection);

}  // namespace attn
