#include <fmt/format.h>
#include <set>

#include "judge/judge.hpp"

namespace attn {
namespace {

constexpr const char* kPython = "python";  // another interpreter lies elsewhere: that is said once

template <class Value>
std::set<std::string> keys_of(const std::map<std::string, Value>& a, const std::map<std::string, Value>& b) {
  std::set<std::string> keys;
  for (const auto* each : {&a, &b})
    for (const auto& [key, value] : *each) keys.insert(key);
  return keys;
}

// A version is whatever text a library gives.
std::string trimmed(const std::string& text) {
  constexpr const char* kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string interpreter_of(const std::map<std::string, LibraryVersion>& libraries) {
  const auto found = libraries.find(kInterpreter);
  return found == libraries.end() ? "" : found->second.path;
}

}  // namespace

std::string cause_of_change(const Baseline& baseline, const Environment& environment, bool loaded) {
  std::vector<std::string> changes, moved;
  // What somebody set first: it may be why other libraries were loaded.
  for (const std::string& name : keys_of(baseline.switches, environment.switches)) {
    const auto before = baseline.switches.find(name), now = environment.switches.find(name);
    const std::string from = before != baseline.switches.end() ? before->second : "unset", to = now != environment.switches.end() ? now->second : "unset";
    if (from != to) changes.push_back(fmt::format("{} {} -> {}", name, from, to));
  }
  const std::string interpreter_before = interpreter_of(baseline.libraries), interpreter_now = interpreter_of(environment.libraries);
  const bool other_interpreter = !interpreter_before.empty() && !interpreter_now.empty() && interpreter_before != interpreter_now;
  for (const std::string& name : keys_of(baseline.libraries, environment.libraries)) {
    if (name == kInterpreter) {  // older baselines name none
      if (other_interpreter) moved.push_back(fmt::format("{} {} -> {}", name, interpreter_before, interpreter_now));
      continue;
    }
    const auto before = baseline.libraries.find(name), now = environment.libraries.find(name);
    const bool was = before != baseline.libraries.end(), is = now != environment.libraries.end();
    if (!loaded && was != is) continue;
    const std::string from = was ? trimmed(before->second.version) : "not loaded", to = is ? trimmed(now->second.version) : "not loaded";
    if (from != to) changes.push_back(fmt::format("{} {} -> {}", name, from, to));
    else if (was && is && !(other_interpreter && name == kPython) && before->second.path != now->second.path && !before->second.path.empty() && !now->second.path.empty())
      moved.push_back(fmt::format("{} {} from {} -> {}", name, from, before->second.path, now->second.path));
  }
  // Paths differ between any two checkouts; they are worth a word only when nothing else is known.
  const std::vector<std::string>& told = changes.empty() ? moved : changes;
  return fmt::format("{}", fmt::join(told, ", "));
}

}  // namespace attn
