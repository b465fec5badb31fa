#include "run/resolve.hpp"

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"

namespace attn {

BackendResolver::BackendResolver(const RunOptions& options, const std::atomic<bool>& interrupted) : options_(options), interrupted_(interrupted) {
  const PluginFacts engine = describe_plugin(options.installation, "", options.prepare_timeout, interrupted);
  if (engine.fault && !interrupted) throw Error("the engine does not start: " + engine.fault->reason, Fault::internal);
  environment_ = engine.environment;
  for (const PluginFacts& plugin : builtin_plugins(options.installation, options.prepare_timeout, interrupted)) {
    for (const BackendFacts& backend : plugin.backends) builtin_.emplace(backend.name, plugin.file);
    plugins_.emplace(plugin.file, plugin);
  }
}

const PluginFacts& BackendResolver::facts(const std::string& plugin) {
  const auto found = plugins_.find(plugin);
  return found != plugins_.end() ? found->second : plugins_.emplace(plugin, describe_plugin(options_.installation, plugin, options_.prepare_timeout, interrupted_)).first->second;
}

// The name inside the file: the one asked for, else the key's own, else the only one there is.
std::string BackendResolver::choose(const PluginFacts& facts, const std::string& wanted, const std::string& key) {
  if (!wanted.empty()) return wanted;
  const bool has_key = std::any_of(facts.backends.begin(), facts.backends.end(), [&](const BackendFacts& backend) { return backend.name == key; });
  return !has_key && facts.backends.size() == 1 ? facts.backends.front().name : key;
}

ResolvedBackend BackendResolver::resolve(const BackendSpec& spec) {
  std::string file = spec.plugin, wanted = spec.plugin_name;
  for (const PluginOverride& override : options_.plugins)
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
