#include "suite/quantity.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "yaml/nearest.hpp"

namespace attn {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024.0, kLargest = 9.0e18;  // fits a std::int64_t

const std::vector<Unit> kRatio{{"%", 0.01}};
const std::vector<Unit> kFactor{{"x", 1}};
const std::vector<Unit> kDuration{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
const std::vector<Unit> kBytes{{"B", 1}, {"KiB", kKi}, {"MiB", kKi * kKi}, {"GiB", kKi * kKi * kKi}, {"TiB", kKi * kKi * kKi * kKi}};
const std::vector<Unit> kFlops{{"FLOP", 1}, {"KFLOP", 1e3}, {"MFLOP", 1e6}, {"GFLOP", 1e9}, {"TFLOP", 1e12}, {"PFLOP", 1e15}};

WordList names(const std::vector<Unit>& units) {
  WordList list;
  for (const Unit& unit : units) list.push_back(unit.name);
  return list;
}

// DIGITS[.DIGITS]UNIT
double parse_quantity(std::string_view text, const std::vector<Unit>& units, std::string_view example) {
  const std::size_t number_end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view unit_name = text.substr(number_end);
  double number = 0;
  const char* end = text.data() + number_end;
  const auto parsed = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const bool well_formed = number_end > 0 && parsed.ec == std::errc{} && parsed.ptr == end && text.front() != '.' && *(end - 1) != '.';
  if (!well_formed) throw Error(fmt::format("found {}; wanted is a number with a unit, such as {}", quote(text), example));
  if (unit_name.empty())
    throw Error(fmt::format("found {} without a unit; write it with one, such as {}; allowed are: {}", quote(text), example, join(names(units))));
  for (const Unit& unit : units) {
    if (unit.name != unit_name) continue;
    const double value = number * unit.factor;
    if (value > kLargest) throw Error(fmt::format("found {}, which is out of range", quote(text)));
    return value;
  }
  throw Error(fmt::format("found {} with the unit {}; {}", quote(text), quote(unit_name), allowed_text(unit_name, names(units))));
}

template <class Parse>
double at_place(const Node& node, Parse&& parse) {
  if (node.kind != NodeKind::scalar) refuse(node, fmt::format("found {}; wanted is a number with a unit", found_text(node)));
  try {
    return parse(node.text);
  } catch (const Error& error) {
    refuse(node, error.what());
  }
}

[[noreturn]] void refuse_count(const Node& node) {
  refuse(node, fmt::format("found {}; wanted is a count such as 5, a range such as 0..2, or 1.. for at least 1", found_text(node)));
}

CountBound read_bound(const Node& node, std::int64_t (*parse)(const Node&, std::string_view)) {
  if (node.kind != NodeKind::scalar || node.quoted) refuse_count(node);
  const std::string_view text = node.text;
  const auto dots = text.find("..");
  CountBound bound;
  bound.low = parse(node, text.substr(0, dots));
  if (dots == std::string_view::npos) bound.high = bound.low;
  else if (const auto high = text.substr(dots + 2); !high.empty()) bound.high = parse(node, high);
  if (bound.high && *bound.high < bound.low) refuse(node, fmt::format("found {}: the range ends before it begins", found_text(node)));
  return bound;
}

std::int64_t parse_count(const Node& node, std::string_view text) {
  std::int64_t value = 0;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos && (text.size() == 1 || text[0] != '0');
  if (!digits || std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{})
    refuse_count(node);
  return value;
}

std::int64_t parse_byte_count(const Node& node, std::string_view text) {
  if (text.find_first_not_of("0123456789") == std::string_view::npos) return parse_count(node, text);
  try {
    return static_cast<std::int64_t>(parse_bytes(text));
  } catch (const Error& error) {
    refuse(node, error.what());
  }
}

}  // namespace

double parse_ratio(std::string_view text) { return parse_quantity(text, kRatio, "3%"); }
double parse_factor(std::string_view text) { return parse_quantity(text, kFactor, "1.05x"); }
double parse_duration_ns(std::string_view text) { return parse_quantity(text, kDuration, "2us"); }
double parse_flops(std::string_view text) { return parse_quantity(text, kFlops, "20GFLOP"); }

double parse_bytes(std::string_view text) {
  const double bytes = parse_quantity(text, kBytes, "64MiB");
  if (bytes != std::floor(bytes)) throw Error(fmt::format("found {}, which is no whole number of bytes", quote(text)));
  return bytes;
}

double read_ratio(const Node& node) { return at_place(node, parse_ratio); }

double read_factor(const Node& node) {
  const double factor = at_place(node, parse_factor);
  if (factor <= 0) refuse(node, fmt::format("found {}; it must be more than 0x", found_text(node)));
  return factor;
}

double read_duration_ns(const Node& node) { return at_place(node, parse_duration_ns); }
std::int64_t read_bytes(const Node& node) { return static_cast<std::int64_t>(at_place(node, parse_bytes)); }

CountBound read_count(const Node& node) { return read_bound(node, parse_count); }
CountBound read_byte_count(const Node& node) { return read_bound(node, parse_byte_count); }

}  // namespace attn
