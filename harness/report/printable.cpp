#include "report/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace attn {
namespace {

constexpr std::uint32_t kInvalid = 0xFFFD;
constexpr std::size_t kLongest = 4096;

// The next character and its size in bytes; ill-formed bytes (overlong, surrogates, cut off) give kInvalid, one byte each.
std::pair<std::uint32_t, std::size_t> decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xF0 && first < 0xF5 ? 4 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xC2 && first < 0xE0 ? 2 : 0;
  if (size == 0 || text.size() < size) return {kInvalid, 1};
  std::uint32_t value = first & (0xFFu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return {kInvalid, 1};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::array<std::uint32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
  if (value < smallest[size] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return {kInvalid, 1};
  return {value, size};
}

struct Range {
  std::uint32_t first, last;
};

template <std::size_t N>
bool within(const std::array<Range, N>& ranges, std::uint32_t character) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) { return character >= range.first && character <= range.last; });
}

// Controls, bidi marks and overrides (CVE-2021-42574), zero-width characters, line separators, byte-order mark, tags.
bool is_hostile(std::uint32_t character) {
  static constexpr std::array<Range, 12> ranges{{{0x00, 0x1F}, {0x7F, 0x9F}, {0xAD, 0xAD}, {0x61C, 0x61C}, {0x180E, 0x180E}, {0x200B, 0x200F},
                                                 {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}, {0xFDD0, 0xFDEF}}};
  return within(ranges, character);
}

// Enough of Unicode's width table for names and messages; a terminal that disagrees shows a ragged column, nothing worse.
std::size_t width(std::uint32_t character) {
  static constexpr std::array<Range, 6> none{{{0x300, 0x36F}, {0x483, 0x489}, {0x1AB0, 0x1AFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}}};
  static constexpr std::array<Range, 10> wide{{{0x1100, 0x115F}, {0x2E80, 0x303E}, {0x3041, 0xA4CF}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF},
                                               {0xFE30, 0xFE6F}, {0xFF00, 0xFF60}, {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}}};
  return within(none, character) ? 0 : within(wide, character) ? 2 : 1;
}

bool is_blank(char character) { return character == ' ' || (character >= '\t' && character <= '\r'); }

// The longest beginning of at most `columns` columns, in bytes.
std::size_t fitting(std::string_view text, std::size_t columns) {
  std::size_t used = 0, at = 0;
  while (at < text.size()) {
    const auto [character, size] = decode(text.substr(at));
    if (used + width(character) > columns) break;
    used += width(character);
    at += size;
  }
  return at;
}

}  // namespace

std::string printable(std::string_view text, std::size_t columns) {
  if (columns == 0 || columns > kLongest) columns = kLongest;
  std::string clean;
  // No character is shorter than a quarter of a column a byte but combining marks, and those are bounded here.
  text = text.substr(0, 16 * kLongest);
  for (std::size_t at = 0; at < text.size();) {
    if (is_blank(text[at])) {
      const std::size_t start = at;
      while (at < text.size() && is_blank(text[at])) ++at;
      const std::string_view blanks = text.substr(start, at - start);
      const bool plain = blanks.find_first_not_of(' ') == std::string_view::npos;
      if (!clean.empty() && at < text.size()) clean += plain ? blanks : " ";
      continue;
    }
    const auto [character, size] = decode(text.substr(at));
    if (character == kInvalid) clean += "\xEF\xBF\xBD";
    else if (is_hostile(character)) clean += character < 0x100 ? fmt::format("\\x{:02x}", character) : fmt::format("\\u{:04x}", character);
    else clean += text.substr(at, size);
    at += size;
  }
  return elide_end(clean, columns);
}

std::vector<std::string> printable_tail(std::string_view text, std::size_t count, std::size_t columns) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < count) {
    const auto end = text.find_last_not_of('\n');
    if (end == std::string_view::npos) break;
    text = text.substr(0, end + 1);
    const auto start = text.find_last_of('\n');
    const std::string_view line = start == std::string_view::npos ? text : text.substr(start + 1);
    if (std::string clean = printable(line, columns); !clean.empty()) lines.insert(lines.begin(), std::move(clean));
    text = text.substr(0, start == std::string_view::npos ? 0 : start);
  }
  return lines;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const auto [character, size] = decode(text);
    columns += width(character);
    text.remove_prefix(size);
  }
  return columns;
}

std::string elide_end(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  return std::string(text.substr(0, fitting(text, columns - 1))) + "…";
}

std::string elide_middle(std::string_view text, std::size_t columns) {
  const std::size_t all = columns_of(text);
  if (all <= columns) return std::string(text);
  if (columns < 3) return elide_end(text, columns);
  const std::size_t head = columns / 2, tail = columns - head - 1;
  // The end that takes at most `tail` columns starts where the beginning that it leaves out ends.
  std::size_t from = fitting(text, all - tail);
  while (columns_of(text.substr(from)) > tail) from += decode(text.substr(from)).second;
  return std::string(text.substr(0, fitting(text, head))) + "…" + std::string(text.substr(from));
}

}  // namespace attn
