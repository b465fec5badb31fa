#include "suite/rules.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>

#include "core/size_family.hpp"
#include "suite/quantity.hpp"
#include "suite/selector.hpp"
#include "yaml/read.hpp"

namespace attn {
namespace {

constexpr std::int64_t kMostExtra = 1'000'000;

// `kernels: off`. True when it was that word; anything else but a map is refused.
bool is_off(const Node& node, bool has_settings) {
  if (node.kind == NodeKind::scalar && node.text == "off") return true;
  if (!has_settings) refuse(node, fmt::format("found {}; it has no settings; allowed is: off", found_text(node)));
  if (node.kind != NodeKind::map) refuse(node, fmt::format("found {}; wanted is off or a map of settings", found_text(node)));
  return false;
}

void read_latency(const Node& node, GateRule& rule) {
  const MapReader map(node, "the latency gate", {"metric", "tolerate", "detect", "floor"});
  if (const Node* metric = map.optional("metric")) rule.latency_metric = read_word<LatencyMetric>(*metric);
  if (const Node* tolerate = map.optional("tolerate")) rule.latency_tolerate = read_ratio(*tolerate);
  if (const Node* detect = map.optional("detect")) {
    rule.latency_detect = read_ratio(*detect);
    if (rule.latency_tolerate && *rule.latency_detect <= *rule.latency_tolerate)
      refuse(*detect, fmt::format("found {}; it must be more than tolerate, {}", found_text(*detect), found_text(*map.optional("tolerate"))));
  }
  if (const Node* floor = map.optional("floor")) rule.latency_floor_ns = read_duration_ns(*floor);
}

GateRule read_gate_rule(const Node& node, const Suite& suite) {
  const MapReader map(node, "gates", selector_keys({"numerics", "kernels", "copies", "kernel_path", "latency", "memory"}));
  GateRule rule;
  rule.where = read_selector(map, suite);
  // The settings of a gate, or null when it is absent or off.
  const auto settings = [&](Gate gate, bool has_settings) -> const Node* {
    const Node* value = map.optional(word(gate));
    if (value && is_off(*value, has_settings)) rule.off.insert(gate);
    return value && !rule.off.contains(gate) ? value : nullptr;
  };
  settings(Gate::numerics, false);
  settings(Gate::kernel_path, false);
  if (const Node* kernels = settings(Gate::kernels, true))
    rule.extra_kernels = read_integer(MapReader(*kernels, "the kernels gate", {"extra"}).required("extra"), 0, kMostExtra);
  if (const Node* copies = settings(Gate::copies, true)) {
    const MapReader copy(*copies, "the copies gate", {"extra", "extra_bytes"});
    if (const Node* extra = copy.optional("extra")) rule.extra_copies = read_integer(*extra, 0, kMostExtra);
    if (const Node* bytes = copy.optional("extra_bytes")) rule.extra_copy_bytes = read_bytes(*bytes);
  }
  if (const Node* memory = settings(Gate::memory, true)) {
    const MapReader limits(*memory, "the memory gate", {"tolerate", "floor"});
    if (const Node* tolerate = limits.optional("tolerate")) rule.memory_tolerate = read_ratio(*tolerate);
    if (const Node* floor = limits.optional("floor")) rule.memory_floor_bytes = read_bytes(*floor);
  }
  if (const Node* latency = settings(Gate::latency, true)) read_latency(*latency, rule);
  return rule;
}

std::vector<KernelPath> read_kernel_path(const Node& node) {
  WordList allowed{"fused"};
  for (const std::string_view path : Words<KernelPath>::list) allowed.push_back(path);
  std::vector<KernelPath> paths;
  for (const Node* item : one_or_more(node)) {
    const std::string& text = read_one_of(*item, allowed);
    for (std::size_t i = 0; i < Words<KernelPath>::list.size(); ++i)
      if (const auto path = static_cast<KernelPath>(i); text == "fused" ? is_fused(path) : text == word(path)) paths.push_back(path);
  }
  return paths;
}

std::vector<OperationClass> read_classes(const Node& node) {
  std::vector<OperationClass> classes;
  for (const Node* item : one_or_more(node)) classes.push_back(*operation_class(read_one_of(*item, operation_class_words())));
  return classes;
}

// Refused when no row that the expectation selects has a smaller one to be held against: it could never fail.
MemorySlope read_memory_slope(const Node& node, const Selector& where, const Suite& suite) {
  const MapReader map(node, "memory_slope", {"of", "over", "at_most"});
  MemorySlope slope;
  if (const Node* of = map.optional("of")) slope.of = read_word<PeakOf>(*of);
  slope.over = read_word<SizeAxis>(map.required("over"));
  const Node& at_most = map.required("at_most");
  slope.at_most = read_number(at_most);
  if (slope.at_most < 0) refuse(at_most, fmt::format("found {}; wanted is a power of {} such as 1.1", found_text(at_most), word(slope.over)));
  const auto has_smaller = [&](const SuiteCase* each) { return smaller_case(each->value, slope.over, suite.cases) != nullptr; };
  if (std::ranges::none_of(selected_cases(where, suite), has_smaller))
    refuse(node, fmt::format("no selected case has a partner that differs in {0} alone and has at most half of it; give {0} a list, such as {0}: [512, 1024]", word(slope.over)));
  return slope;
}

// Refused when no row that the expectation selects lies between two others.
double read_smooth(const Node& node, const Selector& where, const Suite& suite) {
  std::set<std::string> ids;
  for (const SuiteCase& each : suite.cases) ids.insert(case_id(each.value));
  const auto between = [&](const SuiteCase* each) {
    return std::ranges::any_of(sweep_directions(), [&](const auto& sizes) {
      return ids.contains(moved_case_id(each->value, sizes, -1)) && ids.contains(moved_case_id(each->value, sizes, 1));
    });
  };
  if (std::ranges::none_of(selected_cases(where, suite), between))
    refuse(node, "no selected case has a neighbour on either side, one smaller and one larger in a size; write a sweep, such as seq: {sweep: around 1024}");
  return read_ratio(node);
}

TimeRatio read_time_ratio(const Node& node, const Selector& where, const Suite& suite) {
  const MapReader map(node, "time_ratio", {"to", "at_most"});
  WordList known;
  for (const BackendSpec& backend : suite.backends) known.push_back(backend.name);
  const Node& to = map.required("to");
  const TimeRatio ratio{read_one_of(to, known), read_factor(map.required("at_most"))};
  const auto other = [&](std::string_view backend) { return backend != ratio.to; };
  if (where.backends.empty() ? std::ranges::none_of(known, other) : std::ranges::none_of(where.backends, other))
    refuse(to, fmt::format("compares {} with itself; name another backend, here or in `backend`", found_text(to)));
  return ratio;
}

Expectation read_expectation(const Node& node, const Suite& suite) {
  const WordList own{"kernels", "copies", "copy_bytes", "memsets", "launches", "synchronisations", "allocations", "capturable", "kernel_path", "no", "supported",
                     "smooth", "memory_slope", "time_ratio"};
  const MapReader map(node, "an expectation", selector_keys(own));
  if (std::none_of(own.begin(), own.end(), [&](std::string_view key) { return map.optional(key) != nullptr; }))
    throw Error(node.place, "expects nothing; add one of: " + join(own));
  Expectation expectation;
  expectation.place = node.place;
  expectation.where = read_selector(map, suite);
  if (const Node* kernels = map.optional("kernels")) expectation.kernels = read_count(*kernels);
  if (const Node* copies = map.optional("copies")) expectation.copies = read_count(*copies);
  if (const Node* bytes = map.optional("copy_bytes")) expectation.copy_bytes = read_byte_count(*bytes);
  if (const Node* memsets = map.optional("memsets")) expectation.memsets = read_count(*memsets);
  if (const Node* launches = map.optional("launches")) expectation.launches = read_count(*launches);
  if (const Node* synchronisations = map.optional("synchronisations")) expectation.synchronisations = read_count(*synchronisations);
  if (const Node* allocations = map.optional("allocations")) expectation.allocations = read_count(*allocations);
  if (const Node* capturable = map.optional("capturable")) expectation.capturable = read_boolean(*capturable);
  if (const Node* path = map.optional("kernel_path")) expectation.kernel_path = read_kernel_path(*path);
  if (const Node* no = map.optional("no")) expectation.no = read_classes(*no);
  if (const Node* supported = map.optional("supported")) expectation.supported = read_boolean(*supported);
  if (const Node* smooth = map.optional("smooth")) expectation.smooth = read_smooth(*smooth, expectation.where, suite);
  if (const Node* slope = map.optional("memory_slope")) expectation.memory_slope = read_memory_slope(*slope, expectation.where, suite);
  if (const Node* ratio = map.optional("time_ratio")) expectation.time_ratio = read_time_ratio(*ratio, expectation.where, suite);
  return expectation;
}

// YYYY-MM-DD, a day that exists.
bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  int year = 0;
  unsigned month = 0, day = 0;
  const auto parse = [&](std::size_t at, std::size_t size, auto& value) {
    const char* end = text.data() + at + size;
    const auto result = std::from_chars(text.data() + at, end, value);
    return result.ec == std::errc{} && result.ptr == end;
  };
  if (text[0] == '-' || !parse(0, 4, year) || !parse(5, 2, month) || !parse(8, 2, day)) return false;
  return std::chrono::year_month_day(std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)).ok();
}

Waiver read_waiver(const Node& node, const Suite& suite) {
  const MapReader map(node, "a waiver", selector_keys({"metric", "reason", "expires"}));
  Waiver waiver;
  waiver.place = node.place;
  waiver.where = read_selector(map, suite);
  if (const Node* metric = map.optional("metric")) waiver.metric = read_word<Gate>(*metric);
  waiver.reason = read_text(map.required("reason"));
  const Node& expires = map.required("expires");
  if (!is_date(read_text(expires))) refuse(expires, fmt::format("found {}; wanted is the last day it holds, such as 2026-12-31", found_text(expires)));
  waiver.expires = expires.text;
  return waiver;
}

template <class Value>
std::vector<Value> read_each(const Node& list, const Suite& suite, Value (*read)(const Node&, const Suite&)) {
  std::vector<Value> values;
  for (const Node& item : read_list(list)) values.push_back(read(item, suite));
  return values;
}

}  // namespace

std::vector<GateRule> read_gates(const Node& node, const Suite& suite) {
  if (node.kind == NodeKind::map) return {read_gate_rule(node, suite)};
  return read_each(node, suite, read_gate_rule);
}

std::vector<Expectation> read_expectations(const Node& node, const Suite& suite) { return read_each(node, suite, read_expectation); }
std::vector<Waiver> read_waivers(const Node& node, const Suite& suite) { return read_each(node, suite, read_waiver); }

}  // namespace attn
