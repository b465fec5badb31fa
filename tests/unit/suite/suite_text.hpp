#pragma once
// A small right suite, from which each test changes one thing.

#include <string>

#include "base/error.hpp"
#include "suite/read_suite.hpp"

namespace attn {

// A suite with one case entry, "name: x" and these lines (each with its own newline, without indentation), and what follows the backends.
inline std::string suite_text(const std::string& case_lines, const std::string& rest = "", const std::string& backends = "[naive, flash]") {
  std::string text = "version: 1\nsuite: s\ncases:\n  - name: x\n";
  std::string line;
  for (const char c : case_lines) {
    if (line.empty()) line = "    ";
    line += c;
    if (c == '\n') {
      text += line;
      line.clear();
    }
  }
  return text + "backends: " + backends + "\n" + rest;
}

// Everything that a case must say, in lines 5 to 9 of the suite.
inline const std::string kBasic = "batch: 1\nheads: 4\nhead_dim: 16\ndtype: fp32\nseq: 8\n";
// The same without the lengths, in lines 5 to 8.
inline const std::string kNoSeq = "batch: 1\nheads: 4\nhead_dim: 16\ndtype: fp32\n";

// "1, 2, ... n"
inline std::string count_to(int n) {
  std::string text = "1";
  for (int i = 2; i <= n; ++i) text.append(", ").append(std::to_string(i));
  return text;
}

// What reading says, or "no error".
inline std::string message_of(const std::string& text, const std::string& path = "s.yaml") {
  try {
    parse_suite(text, path);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace attn
