#include "accounting/rules.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "yaml/read.hpp"

namespace attn {

extern const std::string_view kShippedRules;  // generated from rules.yaml

namespace {

NamePattern read_pattern(const Node& node) {
  const std::string& text = read_text(node);
  try {
    return NamePattern(text);
  } catch (const std::regex_error& error) {
    refuse(node, "no regular expression: " + quote(text) + " (" + error.what() + ")");
  }
}

PathRule::Name read_name(const Node& node) {
  if (node.kind == NodeKind::scalar) return {read_pattern(node), 1, std::nullopt};
  const MapReader map(node, "a name", {"name", "count", "before"});
  PathRule::Name name{read_pattern(map.required("name")), 1, std::nullopt};
  if (const Node* count = map.optional("count")) name.count = read_integer(*count, 1, 1'000'000);
  if (const Node* before = map.optional("before")) name.before = read_word<ActivityClass>(*before);
  return name;
}

PathRule read_path(const Node& node) {
  const MapReader map(node, "a path rule", {"path", "classes", "names"});
  PathRule rule{read_word<KernelPath>(map.required("path")), {}, {}};
  if (const Node* classes = map.optional("classes"))
    for (const Node* each : one_or_more(*classes)) rule.classes.push_back(read_word<ActivityClass>(*each));
  if (const Node* names = map.optional("names"))
    for (const Node* each : one_or_more(*names)) rule.names.push_back(read_name(*each));
  if (rule.classes.empty() && rule.names.empty()) refuse(node, "a path rule without classes and names would fit every call");
  return rule;
}

Rules read_rules(const Node& root) {
  const MapReader map(root, "a rules file", {"version", "classes", "calls", "paths"});
  read_integer(map.required("version"), 1, 1);
  Rules rules;
  if (const Node* classes = map.optional("classes")) {
    for (const Node& each : read_list(*classes)) {
      const MapReader rule(each, "a class rule", {"class", "name"});
      rules.classes.push_back({*operation_class(read_one_of(rule.required("class"), operation_class_words())), read_pattern(rule.required("name"))});
    }
  }
  if (const Node* calls = map.optional("calls")) {
    for (const Node& each : read_list(*calls)) {
      const MapReader rule(each, "a call rule", {"effect", "name"});
      std::vector<CallEffect> effects;
      for (const Node* effect : one_or_more(rule.required("effect"))) effects.push_back(read_word<CallEffect>(*effect));
      rules.calls.push_back({std::move(effects), read_pattern(rule.required("name"))});
    }
  }
  if (const Node* paths = map.optional("paths"))
    for (const Node& each : read_list(*paths)) rules.paths.push_back(read_path(each));
  return rules;
}

}  // namespace

Rules parse_rules(std::string_view text, const std::string& file) { return read_rules(parse_yaml(text, file)); }

Rules load_rules(const std::string& path) {
  Rules rules = read_rules(read_yaml(path));
  std::ranges::copy(default_rules().classes, std::back_inserter(rules.classes));
  std::ranges::copy(default_rules().calls, std::back_inserter(rules.calls));
  std::ranges::copy(default_rules().paths, std::back_inserter(rules.paths));
  return rules;
}

const Rules& default_rules() {
  static const Rules rules = parse_rules(kShippedRules, "rules.yaml");
  return rules;
}

NamePattern::NamePattern(const std::string& expression) {
  constexpr std::string_view kSpecial = "^$\\.*+?()[]{}";
  std::size_t start = 0;
  const bool grouped = expression.find_first_of("([\\") != std::string::npos;  // a bar may belong to a group
  while (start <= expression.size()) {
    const std::size_t bar = grouped ? std::string::npos : expression.find('|', start);
    const std::string part = expression.substr(start, bar == std::string::npos ? bar : bar - start);
    if (part.find_first_of(kSpecial) == std::string::npos) words_.push_back(part);
    else expressions_.emplace_back(part, std::regex::ECMAScript | std::regex::nosubs | std::regex::optimize);
    if (bar == std::string::npos) break;
    start = bar + 1;
  }
}

bool NamePattern::found_in(const std::string& name) const {
  return std::ranges::any_of(words_, [&](const std::string& each) { return name.find(each) != std::string::npos; }) ||
         std::ranges::any_of(expressions_, [&](const std::regex& each) { return std::regex_search(name, each); });
}

OperationClass classify(const Rules& rules, ActivityKind kind, const std::string& readable) {
  if (kind == ActivityKind::memcpy) return {ActivityClass::copy};
  if (kind == ActivityKind::memset) return {ActivityClass::fill};
  for (const ClassRule& rule : rules.classes)
    if (rule.name.found_in(readable)) return rule.operation_class;
  return {};
}

std::vector<CallEffect> call_effects(const Rules& rules, const std::string& name) {
  for (const CallRule& rule : rules.calls)
    if (rule.name.found_in(name)) return rule.effects;
  return {};
}

KernelPath kernel_path(const Rules& rules, const std::vector<NamedRecord>& call) {
  const auto is = [](ActivityClass wanted) {
    return [wanted](const NamedRecord& each) { return each.kind == ActivityKind::kernel && each.activity_class == wanted; };
  };
  const auto occurs = [&](ActivityClass wanted) { return std::ranges::any_of(call, is(wanted)); };
  using enum ActivityClass;
  if (std::ranges::none_of(std::array{attention, gemm, softmax, other}, occurs)) return KernelPath::none;

  std::map<std::string, std::vector<std::size_t>> places;  // a name occurs often and is long: it is searched once
  for (std::size_t i = 0; i < call.size(); ++i) places[std::string(call[i].readable)].push_back(i);
  const auto found = [&](const PathRule::Name& wanted) {
    const auto end = wanted.before ? std::ranges::find_if(call, is(*wanted.before)) : call.end();
    const auto limit = static_cast<std::size_t>(end - call.begin());
    std::int64_t count = 0;
    for (const auto& [name, at] : places)
      if (wanted.name.found_in(name)) count += std::ranges::count_if(at, [&](std::size_t place) { return place < limit; });
    return count >= wanted.count;
  };
  for (const PathRule& rule : rules.paths)
    if (std::ranges::all_of(rule.classes, occurs) && std::ranges::all_of(rule.names, found)) return rule.path;
  return KernelPath::unknown;
}

}  // namespace attn
