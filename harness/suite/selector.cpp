#include "suite/selector.hpp"

#include <algorithm>

#include "base/pattern.hpp"
#include "suite/case_fields.hpp"

namespace attn {
namespace {

Pattern compile(const Node& node) {
  try {
    return Pattern(read_text(node));
  } catch (const Error& error) {
    if (!error.place().file.empty()) throw;
    refuse(node, quote(node.text) + " " + error.what());
  }
}

bool fits(const Pattern& pattern, const SuiteCase& value) {
  return pattern.found_in(case_id(value.value)) || std::ranges::any_of(value.tags, [&](const std::string& tag) { return pattern.found_in(tag); });
}

void check_matches_something(const Node& node, const Suite& suite) {
  const Pattern pattern = compile(node);
  if (std::ranges::none_of(suite.cases, [&](const SuiteCase& each) { return fits(pattern, each); }))
    refuse(node, fmt::format("{} is found in none of the {} cases nor in their tags; the first is {}", quote(node.text), suite.cases.size(),
                             case_id(suite.cases.front().value)));
}

// ">=2.11", "<3", "==2.11.*", several joined by commas.
bool is_condition(std::string_view text) {
  for (;;) {
    const auto comma = text.find(',');
    std::string_view one = text.substr(0, comma);
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    bool has_operator = false;
    for (const std::string_view op : {">=", "<=", "==", "!=", ">", "<"}) {
      if (!one.starts_with(op)) continue;
      one.remove_prefix(op.size());
      has_operator = true;
      break;
    }
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    const auto end = one.find_last_not_of(' ');
    one = one.substr(0, end == std::string_view::npos ? 0 : end + 1);
    if (!has_operator || one.empty() || one[0] < '0' || one[0] > '9') return false;
    if (one.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz.+*-") != std::string_view::npos) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

WordList selector_keys(const WordList& more) {
  WordList keys{"backend", "cases", "device", "arch", "version"};
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

Selector read_selector(const MapReader& map, const Suite& suite) {
  Selector selector;
  if (const Node* backends = map.optional("backend")) {
    WordList known;
    for (const BackendSpec& backend : suite.backends) known.push_back(backend.name);
    for (const Node* backend : one_or_more(*backends)) selector.backends.push_back(read_one_of(*backend, known));
  }
  if (const Node* cases = map.optional("cases")) {
    check_matches_something(*cases, suite);
    selector.cases = cases->text;
  }
  if (const Node* device = map.optional("device")) selector.device = read_word<DeviceType>(*device);
  if (const Node* arch = map.optional("arch")) selector.arch = read_name(*arch, false);
  if (const Node* versions = map.optional("version")) {
    if (versions->kind != NodeKind::map || versions->entries.empty())
      refuse(*versions, fmt::format("found {}; wanted is a map of libraries to conditions, such as {{torch: \">=2.11\"}}",
                                    versions->kind == NodeKind::map ? "an empty map" : found_text(*versions)));
    for (const NodeEntry& entry : versions->entries) {
      if (!is_condition(read_text(entry.value)))
        refuse(entry.value, fmt::format("found {}; wanted is a condition such as \">=2.11\" or \">=2.11, <3\"", found_text(entry.value)));
      selector.versions[entry.key] = entry.value.text;
    }
  }
  return selector;
}

std::vector<const SuiteCase*> selected_cases(const Selector& selector, const Suite& suite) {
  const std::optional<Pattern> pattern = selector.cases.empty() ? std::nullopt : std::optional<Pattern>(selector.cases);
  std::vector<const SuiteCase*> cases;
  for (const SuiteCase& each : suite.cases)
    if (!pattern || fits(*pattern, each)) cases.push_back(&each);
  return cases;
}

}  // namespace attn
