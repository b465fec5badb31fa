#include "cli/side_settings.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "cli/option_values.hpp"
#include "cli/suite_arguments.hpp"
#include "yaml/nearest.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVariable = "env:";
constexpr const char* kForms = "python=INTERPRETER, plugin=[NAME=]FILE[:BACKEND], env:NAME=VALUE";

// FILE may hold a '=' of its own, so what is there decides.
PluginOverride parse_side_plugin(const std::string& text) {
  std::error_code ignored;
  const bool is_file = fs::is_regular_file(text, ignored) || fs::is_regular_file(text.substr(0, text.rfind(':')), ignored);
  return is_file || text.find('=') == std::string::npos ? parse_plugin_file(text) : parse_plugin(text);
}

void add_variable(const std::string& text, SideSettings& side) {
  const auto equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const auto is_fit = [](char c) { return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (equals == std::string::npos || name.empty() || !std::ranges::all_of(name, is_fit) || (name[0] >= '0' && name[0] <= '9'))
    throw Error(fmt::format("found {}: allowed is env:NAME=VALUE, the name of letters, digits and _, for example env:OPENBLAS_NUM_THREADS=1", quote(std::string(kVariable) + text)));
  if (!side.variables.emplace(name, text.substr(equals + 1)).second) throw Error(fmt::format("found {}: this side sets {} already", quote(std::string(kVariable) + text), name));
}

}  // namespace

void add_setting(const std::string& text, SideSettings& side) {
  const auto equals = text.find('=');
  const std::string key = text.substr(0, equals), value = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (text.starts_with(kVariable)) {
    add_variable(text.substr(kVariable.size()), side);
  } else if (key != "python" && key != "plugin") {
    const auto near = nearest(key, {"python", "plugin", "env"});
    throw Error(fmt::format("found {}; allowed are: {}{}", quote(text), kForms, near.empty() || text.empty() ? "" : fmt::format("; did you mean {}?", near == "env" ? "env:NAME=VALUE" : near)));
  } else if (value.empty()) {
    throw Error(fmt::format("found {}: nothing stands after {}=; allowed are: {}", quote(text), key, kForms));
  } else if (key == "plugin") {
    side.plugins.push_back(parse_side_plugin(value));
  } else if (!side.python.empty()) {
    throw Error(fmt::format("found {}: this side has an interpreter already, {}", quote(text), quote(side.python)));
  } else {
    side.python = named_interpreter(value);
  }
  side.typed.push_back(text);
}

void bind_plugins(const std::string& option, const std::vector<PlannedSuite>& planned, SideSettings& side) {
  std::set<std::string_view> running;
  for (const PlannedSuite& each : planned)
    for (const Trial& trial : each.trials) running.insert(trial.backend.name);
  std::set<std::string> replaced;
  for (PluginOverride& plugin : side.plugins) {
    if (plugin.backend.empty() && running.size() > 1)
      throw Error(fmt::format("{}: several backends run, so plugin=NAME={} says which one this is; allowed are: {}", option, plugin.file, fmt::join(running, ", ")));
    if (plugin.backend.empty() && running.size() == 1) plugin.backend = *running.begin();
    if (!plugin.backend.empty() && !replaced.insert(plugin.backend).second)
      throw Error(fmt::format("{}: two plugins take the place of {}", option, quote(plugin.backend)));
  }
  if (!running.empty()) check_plugins(option, planned, side.plugins);
}

}  // namespace attn
