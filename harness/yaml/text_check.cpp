#include "yaml/text_check.hpp"

#include "base/error.hpp"

namespace attn {
namespace {

// Bytes of the UTF-8 character at the front, 0 when it is none: overlong forms, surrogates and values past U+10FFFF are not (RFC 3629).
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

void check_text(std::string_view text, const std::string& file) {
  int line = 1;
  std::size_t line_start = 0;
  bool indentation = true;
  for (std::size_t i = 0; i < text.size();) {
    const auto fail = [&](const std::string& message) { throw Error(Place{file, line, static_cast<int>(i - line_start) + 1}, message); };
    const char c = text[i];
    const std::size_t bytes = character_bytes(text.substr(i, 4));
    if (bytes == 0) fail(fmt::format("byte 0x{:02x} is not UTF-8; YAML is read as UTF-8", static_cast<unsigned char>(c)));
    if (c == '\n') {
      ++line;
      line_start = i + 1;
      indentation = true;
    } else if (c == '\t') {
      if (indentation) fail("a tab in the indentation; YAML wants spaces");
    } else if (c == '\r') {
      if (i + 1 >= text.size() || text[i + 1] != '\n') fail("a carriage return without a line feed; lines end in LF or CR LF");
    } else if ((static_cast<unsigned char>(c) < 0x20 || c == 0x7f)) {
      fail(fmt::format("control character 0x{:02x}{}; YAML is text", static_cast<unsigned char>(c), c == 0 ? " (NUL)" : ""));
    } else if (c != ' ') {
      indentation = false;
    }
    i += bytes;
  }
}

}  // namespace attn
