#pragma once
// The raw activities of a measurement as compact text: names once, then numbers.

#include <string>
#include <vector>

#include "core/activity.hpp"

namespace attn {

// {"names": [...], "calls": [[[kind, name, bytes, start_ns, end_ns], ...], ...]}: kind as ActivityKind counts, name as a place in `names`.
std::string print_raw_calls(const std::vector<CallActivities>& calls);
// Throws Error when the text is damaged; `where` is for the message.
std::vector<CallActivities> parse_raw_calls(const std::string& text, const std::string& where);

}  // namespace attn
