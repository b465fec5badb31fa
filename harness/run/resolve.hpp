#pragma once
// From a trial's backend entry to the plugin file and the name inside it that will run.

#include <map>
#include <string>
#include <vector>

#include "run/installation.hpp"
#include "run/run.hpp"

namespace attn {

struct ResolvedBackend {
  std::string plugin;        // absolute path; empty when there is none
  std::string name_in_file;
  std::string reason;        // why there is none: "no backend of that name for a cpu; there are: flash, naive"
};

class BackendResolver {
 public:
  // Describes the built-in plugins and the overriding ones, each in a worker.
  // `options` and `interrupted` must outlive it.
  BackendResolver(const RunOptions& options, const std::atomic<bool>& interrupted);

  ResolvedBackend resolve(const BackendSpec& spec);
  // What is known of a plugin file; described when first asked for.
  const PluginFacts& facts(const std::string& plugin);
  // Of the engine alone, without any plugin. Throws Error when the engine cannot be started.
  const Environment& environment() const { return environment_; }

 private:
  std::string choose(const PluginFacts& facts, const std::string& wanted, const std::string& key);

  const RunOptions& options_;
  const std::atomic<bool>& interrupted_;
  Environment environment_;
  std::map<std::string, PluginFacts> plugins_;         // by file
  std::map<std::string, std::string> builtin_;         // backend name -> file
};

}  // namespace attn
