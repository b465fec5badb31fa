#pragma once
// Enumerations and their words, listed once: the same words in YAML, ids, JSON and SQL.
//
//   enum class Layout { bhsd, bshd };
//   template <> struct attn::Words<Layout> { static constexpr std::array list{"bhsd", "bshd"}; };   // in the order of the enumerators, which count from 0

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

template <class Enum>
struct Words;

template <class Enum>
concept HasWords = requires { Words<Enum>::list.size(); };

template <HasWords Enum>
constexpr std::string_view word(Enum value) {
  return Words<Enum>::list[static_cast<std::size_t>(value)];
}

template <HasWords Enum>
constexpr std::optional<Enum> from_word(std::string_view text) {
  for (std::size_t i = 0; i < Words<Enum>::list.size(); ++i)
    if (text == Words<Enum>::list[i]) return static_cast<Enum>(i);
  return std::nullopt;
}

// "a, b, c": for messages.
template <HasWords Enum>
std::string all_words() {
  std::string text;
  for (const std::string_view each : Words<Enum>::list) text += (text.empty() ? "" : ", ") + std::string(each);
  return text;
}

}  // namespace attn
