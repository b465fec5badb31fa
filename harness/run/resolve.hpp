#pragma once
// From a trial's backend entry to the code and the name inside it that will run.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "run/installation.hpp"
#include "run/run.hpp"
#include "run/worker_pool.hpp"
#include "yaml/nearest.hpp"

namespace attn {

struct ResolvedBackend {
  BackendCode code;          // none when there is none
  std::string name_in_file;
  std::string reason;        // why there is none: "no backend of that name for a cpu; there are: flash, naive"
};

// The file's name, and which class or backend of it runs unless that is called as the suite calls it: "libplanted.so:planted.copy", "mine.py:Mine".
std::string code_label(const ResolvedBackend& backend, const std::string& key);

// A device that a run measures.
struct Target {
  std::string name;         // "cpu", "cuda:0"
  Environment environment;  // of the engine alone, without any plugin
  std::string fault;        // why it cannot be measured; then the environment names the kind of device and no more
};

class BackendResolver {
 public:
  // Describes the devices that the options ask for and the built-in plugins, each in a worker. `options` and `interrupted` must outlive it. Throws Error when
  // the engine cannot be started at all.
  BackendResolver(const RunOptions& options, const std::atomic<bool>& interrupted);

  const std::vector<Target>& targets() const { return targets_; }
  // Throws Error, with the entry's place, when there is no backend of that name for any device, and when the interpreter that the entry names cannot be run.
  ResolvedBackend resolve(const BackendSpec& spec, DeviceType device);
  bool has_builtin(const std::string& name, DeviceType device) const { return builtin_.contains({device, name}); }
  // What is known of a backend's code; described when first asked for.
  const PluginFacts& facts(const BackendCode& code);
  WorkerPool& workers() { return workers_; }

 private:
  void add_target(const std::string& device);
  WordList builtin_names(std::optional<DeviceType> device) const;
  std::string choose(const PluginFacts& facts, const std::string& wanted, const std::string& key, DeviceType device);

  const RunOptions& options_;
  const std::atomic<bool>& interrupted_;
  WorkerPool workers_;
  std::set<std::string> shipped_;  // names of the Python backends that come with the tree
  std::vector<Target> targets_;
  std::map<BackendCode, PluginFacts> plugins_;
  bool all_loaded_ = true;  // the built-in plugins; else a name that is not known may be of one that did not load
  std::map<std::pair<DeviceType, std::string>, BackendCode> builtin_;  // by kind of device and backend name
};

}  // namespace attn
