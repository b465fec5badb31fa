#pragma once
// A regular expression that a user wrote: compiled with a message when it is none, searched without the risk to hang or to exhaust the stack.

#include <regex>
#include <string>

#include "base/error.hpp"

namespace attn {

class Pattern {
 public:
  // ECMAScript's grammar without back-references. Throws Error, to be put behind the text: "is no regular expression: ...".
  explicit Pattern(const std::string& text) {
    if (text.size() > kLongest) throw Error(fmt::format("is a regular expression of {} characters; at most {} are allowed", text.size(), kLongest));
    try {
      expression_.assign(text, kFlags);
    } catch (const std::regex_error& error) {
      throw Error(fmt::format("is no regular expression: {}", error.what()));
    }
  }

  bool found_in(const std::string& text) const { return std::regex_search(text, expression_); }

 private:
  static constexpr std::size_t kLongest = 1000;
#ifdef __GLIBCXX__
  // libstdc++'s default search backtracks: exponential time for (a+)+$, and one stack frame per character.
  static constexpr auto kFlags = std::regex::ECMAScript | std::regex_constants::__polynomial;
#else
  static constexpr auto kFlags = std::regex::ECMAScript;
#endif
  std::regex expression_;
};

}  // namespace attn
