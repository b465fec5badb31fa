#include "run/resolve.hpp"

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"

namespace attn {

BackendResolver::BackendResolver(const Installation& installation, const std::vector<PluginOverride>& overrides)
    : installation_(installation), overrides_(overrides) {
  const PluginFacts engine = describe_plugin(installation, "");
  if (!engine.fault.empty()) throw Error("the engine does not start: " + engine.fault, Fault::internal);
  environment_ = engine.environment;
  for (const PluginFacts& plugin : builtin_plugins(installation)) {
    for (const BackendFacts& backend : plugin.backends) builtin_.emplace(backend.name, plugin.file);
    plugins_.emplace(plugin.file, plugin);
  }
}

const PluginFacts& BackendResolver::facts(const std::string& plugin) {
  const auto found = plugins_.find(plugin);
  return found != plugins_.end() ? found->second : plugins_.emplace(plugin, describe_plugin(installation_, plugin)).first->second;
}

// The name inside the file: the one asked for, else the key's own, else the only one there is.
std::string BackendResolver::choose(const PluginFacts& facts, const std::string& wanted, const std::string& key) {
  if (!wanted.empty()) return wanted;
  const bool has_key = std::any_of(facts.backends.begin(), facts.backends.end(), [&](const BackendFacts& backend) { return backend.name == key; });
  return !has_key && facts.backends.size() == 1 ? facts.backends.front().name : key;
}

ResolvedBackend BackendResolver::resolve(const BackendSpec& spec) {
  std::string file = spec.plugin, wanted = spec.plugin_name;
  for (const PluginOverride& override : overrides_)
    if (override.backend == spec.name) {
      file = override.file;
      wanted = override.name_in_file;
    }
  if (file.empty() && !spec.python.empty()) return {"", "", "a Python backend: this version runs native plugins only"};
  if (!file.empty()) {
    file = std::filesystem::absolute(file).string();
    return {file, choose(facts(file), wanted, spec.name), ""};
  }
  if (const auto found = builtin_.find(spec.name); found != builtin_.end()) return {found->second, spec.name, ""};
  std::string names;
  for (const auto& [name, plugin] : builtin_) names += (names.empty() ? "" : ", ") + name;
  return {"", "", fmt::format("no backend of that name for a {}; there are: {}", word(environment_.device), names.empty() ? "none" : names)};
}

}  // namespace attn
