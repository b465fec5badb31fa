#include "yaml/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

constexpr std::size_t kLongestWord = 64, kLongestQuote = 60;

std::string plain(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return result;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: a swap looks two rows back.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string_view nearest(std::string_view found, const WordList& allowed) {
  if (found.size() > kLongestWord) return {};
  const std::string meant = plain(found);
  std::string_view best;
  // Half of the word may be wrong: "top_right" is top_left, "foo" is nothing.
  std::size_t least = std::max<std::size_t>(1, found.size() / 2) + 1;
  for (const std::string_view word : allowed) {
    const std::size_t distance = edit_distance(meant, plain(word));
    if (distance < least && distance < word.size()) {
      least = distance;
      best = word;
    }
  }
  return best;
}

std::string join(const WordList& words) { return fmt::format("{}", fmt::join(words, ", ")); }

std::string allowed_text(std::string_view found, const WordList& allowed) {
  const std::string_view near = nearest(found, allowed);
  std::string text = "allowed are: " + join(allowed);
  if (!near.empty()) text += fmt::format("; did you mean {}?", near);
  return text;
}

std::string quote(std::string_view text) {
  std::string result = "\"";
  std::size_t taken = 0;
  for (; taken < text.size() && taken < kLongestQuote; ++taken) {
    const char c = text[taken];
    if (c == '\n') result += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else result += c;
  }
  // Never end in the middle of a UTF-8 character.
  for (; taken < text.size() && (static_cast<unsigned char>(text[taken]) & 0xc0) == 0x80; ++taken) result += text[taken];
  return result + (taken < text.size() ? "...\"" : "\"");
}

}  // namespace attn
