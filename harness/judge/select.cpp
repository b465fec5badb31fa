#include "judge/select.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/pattern.hpp"

namespace attn {
namespace {

struct Version {
  std::vector<long> numbers;
  int stage = 0;  // -1 pre-release, 0 release, 1 after it
};

Version parse_version(std::string_view text) {
  text = text.substr(0, text.find('+'));
  if (text.starts_with('v')) text.remove_prefix(1);
  Version version;
  std::size_t i = 0;
  while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]))) {
    long number = 0;
    while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]))) number = std::min(number * 10 + (text[i++] - '0'), 1'000'000'000L);
    version.numbers.push_back(number);
    if (i >= text.size() || text[i] != '.') break;
    ++i;
  }
  if (i < text.size()) version.stage = text.substr(i).find("post") != std::string_view::npos ? 1 : -1;
  return version;
}

int compare(const Version& a, const Version& b) {
  for (std::size_t i = 0; i < std::max(a.numbers.size(), b.numbers.size()); ++i) {
    const long left = i < a.numbers.size() ? a.numbers[i] : 0, right = i < b.numbers.size() ? b.numbers[i] : 0;
    if (left != right) return left < right ? -1 : 1;
  }
  return a.stage - b.stage;
}

bool satisfies_one(const std::string& version, std::string_view condition, const std::string& whole) {
  const auto is_space = [](char c) { return c == ' '; };
  while (!condition.empty() && is_space(condition.front())) condition.remove_prefix(1);
  while (!condition.empty() && is_space(condition.back())) condition.remove_suffix(1);
  std::string_view relation;
  for (const std::string_view each : {">=", "<=", "==", "!=", ">", "<"})
    if (relation.empty() && condition.starts_with(each)) relation = each;
  std::string_view wanted = condition.substr(relation.size());
  while (!wanted.empty() && is_space(wanted.front())) wanted.remove_prefix(1);
  const bool prefix = wanted.ends_with(".*");
  if (prefix) wanted.remove_suffix(2);
  if (relation.empty() || wanted.empty() || !std::isdigit(static_cast<unsigned char>(wanted.front())) || (prefix && relation != "==" && relation != "!="))
    throw Error(fmt::format("\"{}\" is no version condition; allowed are >=, >, <=, <, ==, != and a version, == and != also with a final .*, joined "
                            "by commas", whole));
  Version is = parse_version(version);
  const Version limit = parse_version(wanted);
  if (prefix) is = {{is.numbers.begin(), is.numbers.begin() + static_cast<std::ptrdiff_t>(std::min(is.numbers.size(), limit.numbers.size()))}, 0};
  const int order = compare(is, limit);
  if (relation == ">=") return order >= 0;
  if (relation == "<=") return order <= 0;
  if (relation == ">") return order > 0;
  if (relation == "<") return order < 0;
  return (order == 0) == (relation == "==");
}

bool fits_arch(const std::string& wanted, const std::string& arch) {
  const std::size_t dot = arch.find('.');
  return wanted == arch || (dot != std::string::npos && wanted == arch.substr(dot + 1));
}

bool fits_cases(const std::string& expression, const RowFacts& row) {
  try {
    const Pattern pattern(expression);
    return pattern.found_in(row.case_id) || std::ranges::any_of(row.tags, [&](const std::string& tag) { return pattern.found_in(tag); });
  } catch (const Error& error) {
    throw Error(fmt::format("cases: \"{}\" {}", expression, error.what()));
  }
}

}  // namespace

RowFacts row_facts(const Trial& trial, const Environment& environment) {
  return {trial.backend.name, trial.id, trial.tags, environment.device, environment.arch, environment.libraries};
}

bool version_satisfies(const std::string& version, const std::string& condition) {
  bool all = true;
  for (std::size_t start = 0; start <= condition.size();) {
    const std::size_t comma = std::min(condition.find(',', start), condition.size());
    all &= satisfies_one(version, std::string_view(condition).substr(start, comma - start), condition);
    start = comma + 1;
  }
  return all;
}

bool selects(const Selector& selector, const RowFacts& row) {
  if (!selector.backends.empty() && std::ranges::find(selector.backends, row.backend) == selector.backends.end()) return false;
  if (selector.device && *selector.device != row.device) return false;
  if (!selector.arch.empty() && !fits_arch(selector.arch, row.arch)) return false;
  for (const auto& [library, condition] : selector.versions) {
    const auto at = row.libraries.find(library);
    if (!version_satisfies(at == row.libraries.end() ? "0" : at->second.version, condition) || at == row.libraries.end()) return false;
  }
  return selector.cases.empty() || fits_cases(selector.cases, row);
}

LatencyGate default_latency_gate(DeviceType device) {
  LatencyGate gate;
  gate.tolerate = device == DeviceType::cpu ? 0.25 : 0.01;
  gate.detect = device == DeviceType::cpu ? 0.50 : 0.03;
  return gate;
}

Gates gates_for(const RowFacts& row, const std::vector<GateRule>& rules, const std::set<Gate>& enabled) {
  Gates gates;
  gates.enabled = enabled;
  LatencyGate latency = default_latency_gate(row.device);
  const double spread = latency.detect / latency.tolerate;
  std::optional<double> tolerate, detect;
  const auto take = [](auto& to, const auto& from) {
    if (from) to = *from;
  };
  for (const GateRule& rule : rules) {
    if (!selects(rule.where, row)) continue;
    take(gates.extra_kernels, rule.extra_kernels);
    take(gates.extra_copies, rule.extra_copies);
    take(gates.extra_copy_bytes, rule.extra_copy_bytes);
    take(gates.memory_tolerate, rule.memory_tolerate);
    take(gates.memory_floor_bytes, rule.memory_floor_bytes);
    take(latency.metric, rule.latency_metric);
    take(tolerate, rule.latency_tolerate);
    take(detect, rule.latency_detect);
    take(latency.floor_ns, rule.latency_floor_ns);
    for (const Gate gate : rule.off)
      if (gates.enabled.erase(gate) > 0) gates.switched_off.insert(gate);
  }
  // Who names one of the two gets the other in the usual proportion, where the default would contradict it.
  take(latency.tolerate, tolerate);
  take(latency.detect, detect);
  if (tolerate && !detect) latency.detect = std::max(latency.detect, *tolerate * spread);
  if (detect && !tolerate) latency.tolerate = std::min(latency.tolerate, *detect / spread);
  gates.latency = latency;
  return gates;
}

std::vector<Expectation> expectations_for(const RowFacts& row, const std::vector<Expectation>& expectations) {
  std::vector<Expectation> fitting;
  std::ranges::copy_if(expectations, std::back_inserter(fitting), [&](const Expectation& each) { return selects(each.where, row); });
  return fitting;
}

std::vector<Expectation> unmatched_expectations(const std::vector<Expectation>& expectations, const std::vector<RowFacts>& rows) {
  std::vector<Expectation> unmatched;
  std::ranges::copy_if(expectations, std::back_inserter(unmatched), [&](const Expectation& each) {
    return std::ranges::none_of(rows, [&](const RowFacts& row) { return selects(each.where, row); });
  });
  return unmatched;
}

}  // namespace attn
