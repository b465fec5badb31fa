#pragma once
// The middle of a few values.

#include <algorithm>
#include <optional>
#include <vector>

namespace attn {

// Of an even number of values the mean of the two in the middle; empty for none.
inline std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace attn
