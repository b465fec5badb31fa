#include "cli/option_values.hpp"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "suite/quantity.hpp"
#include "yaml/nearest.hpp"

namespace attn {
namespace {

template <class Number>
std::optional<Number> parse_digits(std::string_view text) {
  Number value{};
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// FILE or FILE:BACKEND; `found` is all that was typed.
PluginOverride plugin_of(const std::string& backend, const std::string& file, const std::string& found) {
  PluginOverride plugin{backend, file, ""};
  std::error_code ignored;
  // A colon may belong to the file's name.
  if (const auto colon = file.rfind(':'); colon != std::string::npos && !std::filesystem::exists(file, ignored)) {
    plugin.name_in_file = file.substr(colon + 1);
    plugin.file.resize(colon);
    if (plugin.name_in_file.empty()) throw Error(fmt::format("found {}: the name of the backend after the last \":\" is missing", quote(found)));
  }
  if (!std::filesystem::is_regular_file(plugin.file, ignored)) throw Error(fmt::format("found {}: there is no file {}", quote(found), quote(plugin.file)));
  return plugin;
}

}  // namespace

std::chrono::nanoseconds parse_duration(const std::string& text) {
  constexpr double kYear = 366.0 * 24 * 3600e9;
  const double ns = parse_duration_ns(text);
  if (ns < 1 || ns > kYear) throw Error(fmt::format("found {}: allowed is above zero and at most a year, for example 60s", quote(text)));
  return std::chrono::nanoseconds(std::llround(ns));
}

double parse_cost(const std::string& text) {
  const double flops = parse_flops(text);
  if (flops <= 0) throw Error(fmt::format("found {}: allowed is above zero, for example 20GFLOP", quote(text)));
  return flops;
}

std::uint64_t parse_seed(const std::string& text) {
  if (const auto value = parse_digits<std::uint64_t>(text)) return *value;
  throw Error(fmt::format("found {}: allowed is a whole number from 0 to {}", quote(text), std::numeric_limits<std::uint64_t>::max()));
}

std::int64_t parse_positive(const std::string& text) {
  if (const auto value = parse_digits<std::int64_t>(text); value && *value > 0) return *value;
  throw Error(fmt::format("found {}: allowed is a whole number above 0", quote(text)));
}

std::set<Gate> parse_gates(const std::string& text) {
  std::set<Gate> gates;
  std::string_view rest = text;
  for (;;) {
    const auto comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    const auto gate = from_word<Gate>(name);
    if (!gate) throw Error(fmt::format("found {}; {}", quote(name), allowed_text(name, WordList(Words<Gate>::list.begin(), Words<Gate>::list.end()))));
    gates.insert(*gate);
    if (comma == std::string_view::npos) return gates;
    rest.remove_prefix(comma + 1);
  }
}

PluginOverride parse_plugin(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw Error(fmt::format("found {}: allowed is NAME=FILE or NAME=FILE:BACKEND, for example flash=build/libflash.so", quote(text)));
  return plugin_of(text.substr(0, equals), text.substr(equals + 1), text);
}

PluginOverride parse_plugin_file(const std::string& text) { return plugin_of("", text, text); }

std::string parse_device(const std::string& text) {
  const WordList words{"auto", "cpu", "cuda", kAllDevices};
  if (std::find(words.begin(), words.end(), text) != words.end()) return text;
  constexpr std::string_view kNumbered = "cuda:";
  const std::string digits = text.starts_with(kNumbered) ? text.substr(kNumbered.size()) : "";
  if (!digits.empty() && digits.size() <= 3 && digits.find_first_not_of("0123456789") == std::string::npos) return text;
  if (text.find("gpu") != std::string::npos || text.find("GPU") != std::string::npos || text.find("nvidia") != std::string::npos)
    throw Error(fmt::format("found {}; a GPU is called cuda, or cuda:N for the N-th, counted from 0", quote(text)));
  throw Error(fmt::format("found {}; {}, and cuda:N for the N-th GPU, counted from 0", quote(text), allowed_text(text, words)));
}

std::string parse_interpreter(const std::string& text) {
  named_interpreter(text);
  return text;
}

std::string parse_text(const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) throw Error(fmt::format("found {}: allowed is a text that is not blank", quote(text)));
  return text;
}

}  // namespace attn
