#include "mutate.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace attn {
namespace {

constexpr std::size_t kLongest = 64u << 10;

// What the reader looks at: YAML's own signs, keys, words, units, and numbers at the edges of types.
constexpr std::string_view kTokens[] = {
    ": ", "- ", "[", "]", "{", "}", ", ", "? ", "&a ", "*a", "!!str ", "<<: ", "|\n", ">\n", "\"", "'", "#", "---\n", "...\n", "%YAML 1.2\n", "\n", "\r\n", "\t", "  ", "~", "null",
    "true", "false", "yes", "on", "off", "none", "default", "axis", "sweep", "around 1", "around 1024", "version", "suite", "defaults", "cases", "backends", "gates", "expect", "waive",
    "name", "batch", "heads", "heads_kv", "seq", "seq_q", "seq_kv", "head_dim", "head_dim_v", "dtype", "dtype_kv", "layout", "strides", "mask", "tensor", "shape", "fill", "alignment",
    "window", "left", "right", "softcap", "scale", "alibi", "slopes", "lengths", "q", "kv", "page_size", "page_order", "dead_rows", "pass", "grad_layout", "deterministic", "dropout", "then",
    "inputs", "cache", "tags", "sinks", "latent", "plugin", "python", "interpreter", "options", "build", "backend", "device", "arch", "kernels", "copies", "copy_bytes", "memsets",
    "kernel_path", "supported", "latency", "memory", "metric", "tolerate", "detect", "floor", "extra", "reason", "expires", "fused", "causal", "thd", "packed_qkv", "bottom_right", "bf16",
    "0", "1", "-1", "010", "0x10", "1e3", "0..2", "1..", "3%", "2us", "64MiB", "16777216", "16777217", "65536", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
    "1e308", "1e999", "-0", ".inf", ".nan", "\">=2.11, <3\"", "2026-12-31", "2027-02-29", "(a+)+$", "((a{99}){99}){99}", "[[]]", "{}", "[]", "x.py:Y", "\"(\\x1b\"", "\"a\\nb\"", "../..", "\xff", "\xc3\xa9", "\xed\xa0\x80"};

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '%'; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    lines.back() += c;
    if (c == '\n') lines.emplace_back();
  }
  return lines;
}

}  // namespace

std::size_t Mutator::below(std::size_t n) {
  // xorshift64*: Vigna 2016, "An experimental exploration of Marsaglia's xorshift generators, scrambled".
  state_ ^= state_ >> 12;
  state_ ^= state_ << 25;
  state_ ^= state_ >> 27;
  return n == 0 ? 0 : static_cast<std::size_t>((state_ * 0x2545f4914f6cdd1dull) >> 33) % n;
}

void Mutator::mutate_bytes(std::string& text) {
  const std::size_t at = below(text.size()), length = std::min(below(16), text.size() - at);
  switch (below(4)) {
    case 0: text[at] = static_cast<char>(below(256)); break;
    case 1: text.insert(at, 1, static_cast<char>(below(256))); break;
    case 2: text.erase(at, length); break;
    default: text.insert(below(text.size()), text.substr(at, length)); break;
  }
}

void Mutator::mutate_tokens(std::string& text) {
  // A whole word, or the empty place between two signs.
  std::size_t first = below(text.size());
  while (first > 0 && is_word(text[first - 1]) && is_word(text[first])) --first;
  std::size_t end = first;
  while (end < text.size() && is_word(text[end])) ++end;
  std::string token(kTokens[below(std::size(kTokens))]);
  const std::size_t how = below(8);
  if (how == 0) {
    std::string many;
    for (std::size_t i = below(300); i > 0; --i) many += token;
    token = many;
  }
  text.replace(first, how < 6 ? end - first : 0, token);
}

void Mutator::mutate_lines(std::string& text) {
  std::vector<std::string> lines = lines_of(text);
  const auto any = [&] { return lines.begin() + static_cast<std::ptrdiff_t>(below(lines.size())); };
  const auto at = any();
  switch (below(6)) {
    case 0: lines.erase(at); break;
    case 1: lines.insert(any(), std::string(*at)); break;
    case 2: std::iter_swap(at, any()); break;
    case 3: at->insert(0, std::string(below(6), ' ')); break;
    case 4: at->erase(0, std::min(below(4), at->size())); break;
    default: {
      // A block of another suite in the middle of this one.
      const std::vector<std::string> other = lines_of(seeds_[below(seeds_.size())]);
      const std::size_t first = below(other.size()), count = std::min(1 + below(8), other.size() - first);
      const auto from = other.begin() + static_cast<std::ptrdiff_t>(first);
      lines.insert(any(), from, from + static_cast<std::ptrdiff_t>(count));
    }
  }
  text.clear();
  for (const std::string& line : lines) text += line;
}

std::string Mutator::next() {
  std::string text = seeds_[below(seeds_.size())];
  // Half of the inputs get one mutation: those reach deepest.
  for (std::size_t i = below(2) ? 1 + below(8) : 1; i > 0; --i) {
    if (text.empty()) break;
    switch (below(3)) {
      case 0: mutate_bytes(text); break;
      case 1: mutate_tokens(text); break;
      default: mutate_lines(text); break;
    }
    if (text.size() > kLongest) text.resize(kLongest);
  }
  return text;
}

}  // namespace attn
