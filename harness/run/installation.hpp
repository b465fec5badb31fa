#pragma once
// Where the parts of an installed tree lie, and which backends came with it.

#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/child_process.hpp"
#include "core/records.hpp"
#include "core/suite.hpp"

namespace attn {

class WorkerPool;

struct Installation {
  std::string executable;  // attn-regress itself: it is also the native worker
  std::string engine;      // <prefix>/lib/libattn_engine.so
  std::string backends;    // folder of the built-in plugins, <prefix>/lib/attn-regress
  std::string python;      // folder of the Python worker, <prefix>/lib/attn-regress/python
  Variables variables{};   // of the workers' environment, over this process's own
};

// By the path of the running executable: <prefix>/bin/attn-regress. Build tree and installed tree have the same layout.
Installation this_installation();

// Where a backend's code is: a native plugin, or a class in a Python file with the interpreter that runs it, or the folder of the shipped Python backends.
struct BackendCode {
  std::string file;          // absolute path; empty = none
  std::string python_class;  // empty for a native plugin and for the shipped ones
  std::string interpreter;   // empty for a native plugin
  auto operator<=>(const BackendCode&) const = default;
};

// The Python of a backend whose suite names none: $VIRTUAL_ENV/bin/python, else python3 on PATH.
std::string default_interpreter();
// One that somebody named: a path by the working directory, which becomes absolute, or a command on PATH. Throws Error when no such program can be run.
std::string named_interpreter(const std::string& text);

// How a worker is started.
struct WorkerCommand {
  std::vector<std::string> words;
  Variables variables{};
};

// The worker that serves `code` (none: no backends at all).
WorkerCommand worker_command(const Installation& installation, const BackendCode& code);

// The Python backends that come with the tree: torch/naive.py in the folder is torch.naive.
std::string shipped_folder(const Installation& installation);
std::set<std::string> shipped_backends(const Installation& installation);

// One plugin or Python class as a worker saw it. `fault` says what became of a worker that never came up: unsupported, crashed, timed_out, failed, and why.
struct PluginFacts {
  BackendCode code;
  std::string fingerprint;  // of the file's contents: tells two builds apart
  Environment environment;
  std::vector<BackendFacts> backends;
  std::optional<MeasurementRecord> fault;
  std::string loading_output;  // the tail of what it printed meanwhile; hostile text
};

// The line in which a Python worker says why it cannot keep its code loaded, without its name; empty when it does not say so.
std::string loaded_anew_line(const std::string& loading_output);

// Loads `code` in a worker process and asks what it holds, without touching a GPU.
PluginFacts describe_plugin(WorkerPool& workers, const BackendCode& code, std::chrono::nanoseconds patience);
// The engine alone on a device ("auto", "cpu", "cuda:N"): its environment, or why there is none.
PluginFacts describe_device(const Installation& installation, const std::string& device, std::chrono::nanoseconds patience, const std::atomic<bool>& interrupted);
// Every built-in plugin, by file name.
std::vector<PluginFacts> builtin_plugins(const Installation& installation, std::chrono::nanoseconds patience, const std::atomic<bool>& interrupted);

}  // namespace attn
