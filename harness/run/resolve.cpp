#include "run/resolve.hpp"

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"

namespace attn {
namespace {

constexpr std::string_view kLeftOut = ATTN_LEFT_OUT;  // plugins that this build was made without, because a library was missing

std::string interpreter_of(const RunOptions& options) { return options.python.empty() ? default_interpreter() : named_interpreter(options.python); }

std::string interpreter_of(const BackendSpec& spec, const RunOptions& options) {
  if (spec.interpreter.empty()) return interpreter_of(options);
  try {
    return named_interpreter(spec.interpreter);
  } catch (const Error& error) {
    throw Error(spec.place, fmt::format("interpreter: {}", error.what()));
  }
}

}  // namespace

std::string code_label(const ResolvedBackend& backend, const std::string& key) {
  const std::string name = std::filesystem::path(backend.code.file).filename().string();
  return !backend.code.python_class.empty() || backend.name_in_file != key ? name + ":" + backend.name_in_file : name;
}

BackendResolver::BackendResolver(const RunOptions& options, const std::atomic<bool>& interrupted)
    : options_(options), interrupted_(interrupted), workers_(options.installation, interrupted), shipped_(shipped_backends(options.installation)) {
  if (options.device != kAllDevices) {
    add_target(options.device);
  } else {
    add_target("cpu");
    add_target("cuda");
  }
  for (const PluginFacts& plugin : builtin_plugins(options.installation, options.prepare_timeout, interrupted)) {
    for (const BackendFacts& backend : plugin.backends) {
      const auto [known, fresh] = builtin_.emplace(std::pair(backend.device, backend.name), plugin.code);
      if (!fresh && known->second != plugin.code)
        throw Error(fmt::format("two files hold a backend \"{}\" for a {}: {} and {}; remove one (left over from an earlier build?)", backend.name, word(backend.device),
                                known->second.file, plugin.code.file));
    }
    all_loaded_ = all_loaded_ && !plugin.fault;
    plugins_.emplace(plugin.code, plugin);
  }
}

void BackendResolver::add_target(const std::string& device) {
  const PluginFacts engine = describe_device(options_.installation, device, options_.prepare_timeout, interrupted_);
  Target target{device, engine.environment, ""};
  if (engine.fault && !interrupted_) {
    if (engine.fault->status != Status::cannot_measure) throw Error("the engine does not start: " + engine.fault->reason, Fault::internal);
    target.environment.device = DeviceType::cuda;  // a host can always be measured
    target.fault = engine.fault->reason;
  }
  if (device == "auto") target.name = target.environment.device == DeviceType::cuda ? "cuda:0" : "cpu";
  targets_.push_back(std::move(target));
}

const PluginFacts& BackendResolver::facts(const BackendCode& code) {
  const auto found = plugins_.find(code);
  return found != plugins_.end() ? found->second : plugins_.emplace(code, describe_plugin(workers_, code, options_.prepare_timeout)).first->second;
}

// The name inside the file: the one asked for, else the key's own, else the only one there is for the device.
std::string BackendResolver::choose(const PluginFacts& facts, const std::string& wanted, const std::string& key, DeviceType device) {
  if (!wanted.empty()) return wanted;
  std::vector<std::string> names;
  for (const BackendFacts& backend : facts.backends)
    if (backend.device == device) names.push_back(backend.name);
  return names.size() == 1 ? names.front() : key;
}

ResolvedBackend BackendResolver::resolve(const BackendSpec& spec, DeviceType device) {
  std::string file = spec.plugin, wanted = spec.plugin_name, python = spec.python;
  for (const PluginOverride& override : options_.plugins)
    if (override.backend == spec.name) {
      const bool is_python = override.file.ends_with(kPythonFile);
      const std::string python_class = override.name_in_file.empty() ? python.substr(python.rfind(':') + 1) : override.name_in_file;
      python = is_python ? override.file + ":" + python_class : "";
      file = is_python ? "" : override.file;
      wanted = is_python ? "" : override.name_in_file;
    }
  if (!file.empty()) {
    const BackendCode code{std::filesystem::absolute(file).string(), "", ""};
    return {code, choose(facts(code), wanted, spec.name, device), ""};
  }
  if (!python.empty()) {
    const std::size_t colon = python.rfind(':');
    const BackendCode code{std::filesystem::absolute(python.substr(0, colon)).string(), python.substr(colon + 1),
                           interpreter_of(spec, options_)};
    return {code, code.python_class, ""};
  }
  if (const auto found = builtin_.find({device, spec.name}); found != builtin_.end()) return {found->second, spec.name, ""};
  if (shipped_.contains(spec.name)) return {{shipped_folder(options_.installation), "", interpreter_of(options_)}, spec.name, ""};
  const WordList known = builtin_names(std::nullopt);
  if (all_loaded_ && kLeftOut.empty() && std::ranges::find(known, spec.name) == known.end())
    throw Error(spec.place, fmt::format("backends: found {}; {}", quote(spec.name), allowed_text(spec.name, known)));
  return {{}, "", fmt::format("no backend of that name for a {}; there are: {}{}", device == DeviceType::cuda ? "GPU" : "CPU", join(builtin_names(device)),
                              kLeftOut.empty() ? "" : fmt::format("; this build left out {}", kLeftOut))};
}

// Those a suite is likely to mean: for `device`, or for any.
WordList BackendResolver::builtin_names(std::optional<DeviceType> device) const {
  std::set<std::string_view> names;
  for (const auto& [key, plugin] : builtin_)
    if ((!device || key.first == *device) && !key.second.starts_with("control.") && !key.second.starts_with("planted.")) names.insert(key.second);
  WordList list(names.begin(), names.end());
  list.insert(list.end(), shipped_.begin(), shipped_.end());
  return list;
}

}  // namespace attn
