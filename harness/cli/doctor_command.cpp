// `attn-regress doctor`: what this machine can measure.

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/child_process.hpp"
#include "cli/commit.hpp"
#include "cli/console.hpp"
#include "cli/database_path.hpp"
#include "cli/interrupt.hpp"
#include "cli/option_values.hpp"
#include "cli/subcommands.hpp"
#include "core/units.hpp"
#include "report/capabilities.hpp"
#include "report/grid.hpp"
#include "run/installation.hpp"

namespace attn {
namespace {

constexpr std::chrono::seconds kPatience{30};  // for a plugin to come up

struct Arguments {
  std::string database;
  std::vector<std::string> interpreters;  // none: the default one
  ColorChoice color = ColorChoice::automatic;
};

struct Check {
  std::string text;
  bool good = true;
  bool missing = false;  // not there, and nothing wrong with that
};

Check check_database(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    try {
      History::open_existing(path);
    } catch (const Error& fault) {
      return {fault.what(), false};
    }
    return access(path.c_str(), W_OK) == 0 ? Check{path + ", writable"} : Check{path + ", not writable", false};
  }
  std::filesystem::path folder = std::filesystem::absolute(path, error).parent_path();
  while (folder.has_relative_path() && !std::filesystem::exists(folder, error)) folder = folder.parent_path();
  const bool writable = access(folder.c_str(), W_OK) == 0;
  return {fmt::format("{}, does not exist yet; {} is {}writable", path, folder.string(), writable ? "" : "not "), writable};
}

constexpr int kPythonLacks = 3;  // about.py's

// What Python backends would find; a machine without it measures all others.
Check check_python(const Installation& installation, const std::string& interpreter) {
  try {
    ChildProcess child({interpreter, installation.python + "/about.py"});
    const Ending ending = child.wait(ChildProcess::Clock::now() + std::chrono::minutes(2));  // a first import of torch takes its time
    std::string said = child.take_output();
    while (said.ends_with('\n')) said.pop_back();
    const bool good = ending.exit_code == 0, lacking = ending.exit_code == kPythonLacks;
    return {good || lacking ? said : fmt::format("{} ended with {}: {}", interpreter, ending.text(), said), good, lacking};
  } catch (const Error& error) {
    return {std::string(error.what()) + "; --python, VIRTUAL_ENV, or `interpreter:` of a suite's entry, names another", false, true};
  }
}

// One of the engine's own checks, in a process of its own: an engine that crashes must not take the doctor along.
Check self_test(const Installation& installation, const std::string& of, const std::string& good) {
  try {
    std::vector<std::string> command = worker_command(installation, {}).words;
    command.insert(command.end(), {"--self-test", of});
    ChildProcess worker(command);
    const Ending ending = worker.wait(ChildProcess::Clock::now() + std::chrono::minutes(2));
    if (ending.exit_code == 0) return {good};
    const std::string output = worker.take_output();
    return {output.empty() ? ending.text() : output, false};
  } catch (const Error& error) {
    return {error.what(), false};
  }
}

std::string machine_text(const Environment& environment) {
  std::string text = fmt::format("{}, {} {}", environment.device_name, environment.threads, environment.device == DeviceType::cpu ? "threads" : "host threads");
  if (environment.cache_bytes > 0) text += ", last-level cache " + bytes_text(static_cast<double>(environment.cache_bytes));
  if (environment.memory_bytes > 0) text += ", memory " + bytes_text(static_cast<double>(environment.memory_bytes));
  return text;
}

std::string libraries_text(const Environment& environment) {
  std::string text;
  for (const auto& [name, library] : environment.libraries) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, library.version);
  for (const auto& [name, value] : environment.switches) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  return text;
}

ExitCode examine(const Arguments& arguments) {
  const Installation installation = this_installation();
  const Canvas canvas = canvas_of(stdout, arguments.color);
  Grid facts({{"", false, false, 0}, {"", false, true, 0}, {"", false, false, 0}});
  bool able = true;
  const auto state = [&](const std::string& what, const Check& check) {
    facts.add({{check.good ? "ok" : check.missing ? "--" : "BAD", check.good ? Tone::good : check.missing ? Tone::dim : Tone::bad}, {what, Tone::plain}, {check.text, Tone::plain}});
  };
  const auto require = [&](const std::string& what, const Check& check) {
    state(what, check);
    able = able && check.good;
  };

  const std::atomic<bool>& interrupted = watch_interrupts();
  const PluginFacts engine = describe_device(installation, "cpu", kPatience, interrupted);
  require("engine", !engine.fault ? Check{engine.environment.engine + ", " + installation.engine} : Check{engine.fault->reason, false});
  if (!engine.fault) {
    state("machine", {machine_text(engine.environment)});
    state("system", {engine.environment.operating_system});
    state("arch, platform", {engine.environment.arch + ", " + engine.environment.platform});
    if (const std::string text = libraries_text(engine.environment); !text.empty()) state("libraries, switches", {text});
    require("reference", self_test(installation, "reference", "agrees with rows computed by hand"));
  }
  const PluginFacts gpu = describe_device(installation, "cuda", kPatience, interrupted);
  if (gpu.fault) {
    // Absent is no fault; there and not to be used is one.
    const PluginFacts chosen = describe_device(installation, "auto", kPatience, interrupted);
    state("GPU", {gpu.fault->reason, false, !chosen.fault});
  } else {
    state("GPU", {machine_text(gpu.environment)});
    state("GPU arch, platform", {gpu.environment.arch + ", " + gpu.environment.platform});
    state("GPU libraries, switches", {libraries_text(gpu.environment)});
    // Without records times can still be measured, so a machine without them is able.
    state("GPU records", self_test(installation, "gpu-records", "CUPTI reports every kernel, memcpy and memset"));
    require("GPU reference", self_test(installation, "gpu-reference", "agrees with the host's"));
  }
  if (arguments.interpreters.empty()) state("Python", check_python(installation, default_interpreter()));
  for (const std::string& interpreter : arguments.interpreters) {
    Check check = check_python(installation, interpreter);
    check.missing = false;  // who names one needs it
    require("Python", check);
  }
  const std::set<std::string> shipped = shipped_backends(installation);
  require("Python backends", shipped.empty() ? Check{"none in " + shipped_folder(installation), false}
                                             : Check{fmt::format("{}; --python says whose PyTorch they run on", fmt::join(shipped, ", "))});
  state("database", check_database(database_path(arguments.database)));
  const std::string commit = current_commit();
  state("commit", {commit.empty() ? "none: no git work tree here; --commit names one" : commit});

  Grid backends({{"backend", false, false, 0}, {"version", false, false, 2}, {"device", false, false, 3}, {"file", false, false, 1}, {"can", false, true, 0}});
  std::size_t count = 0;
  for (const PluginFacts& plugin : builtin_plugins(installation, kPatience, interrupted)) {
    const std::string file = std::filesystem::path(plugin.code.file).filename().string();
    if (plugin.fault) require("plugin " + file, {plugin.fault->reason, false});
    for (const BackendFacts& backend : plugin.backends) {
      ++count;
      backends.add({{backend.name, Tone::plain}, {backend.version, Tone::plain}, {std::string(word(backend.device)), Tone::plain}, {file, Tone::dim},
                    {capabilities_text(backend.can), Tone::plain}});
    }
  }
  require("backends", count > 0 ? Check{fmt::format("{} built in", count)} : Check{"none in " + installation.backends, false});
  std::string text = facts.text(canvas.columns, canvas.color);
  text.erase(0, text.find('\n') + 1);  // the titles are empty
  print(stdout, count > 0 ? fmt::format("{}\n{}{}\n", text, backends.text(canvas.columns, canvas.color), all_capabilities_text()) : text);
  return able ? ExitCode::pass : ExitCode::cannot_judge;
}

}  // namespace

Subcommand add_doctor(CLI::App& program) {
  CLI::App* app = program.add_subcommand("doctor", "What this machine can measure");
  auto arguments = std::make_shared<Arguments>();
  add_database(*app, arguments->database);
  add_values(*app, "--python", arguments->interpreters, parse_text, "INTERPRETER",
             "What Python backends find in this one, which must serve them; default $VIRTUAL_ENV/bin/python, then python3; repeatable");
  add_color(*app, arguments->color);
  return {app, [arguments] { return examine(*arguments); }};
}

}  // namespace attn
