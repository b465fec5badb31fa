#pragma once
// The options of planted.cc and planted.cu: a number with its unit.

#include <charconv>

#include "abi/attn_kernel.hpp"

namespace attn {

// The number before `unit`; throws with what was found and what is allowed.
inline double number(const Options& options, std::string_view key, std::string_view fallback, std::string_view unit, double largest) {
  const std::string_view text = options.get(key, fallback);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || std::string_view(end, static_cast<std::size_t>(text.data() + text.size() - end)) != unit || !(value >= 0 && value <= largest))
    throw std::runtime_error("option `" + std::string(key) + "` is `" + std::string(text) + "`; allowed is a number from 0 to " +
                             std::to_string(static_cast<long long>(largest)) + (unit.empty() ? "" : " with `" + std::string(unit) + "`"));
  return value;
}

}  // namespace attn
