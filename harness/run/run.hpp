#pragma once
// The parent: runs planned trials in worker processes, re-measures until the evidence suffices, judges. Never touches a device itself.

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "accounting/rules.hpp"
#include "core/baseline.hpp"
#include "core/run_result.hpp"
#include "core/suite.hpp"
#include "run/installation.hpp"

namespace attn {

// `--plugin NAME=FILE[:BACKEND]`: FILE runs as backend NAME, its key unchanged.
struct PluginOverride {
  std::string backend, file;
  std::string name_in_file;  // empty: NAME, or the only backend in FILE; of a Python file its class, empty: that of the suite's entry
};
inline constexpr const char* kPythonFile = ".py";  // how the name of a file ends that holds a class and no plugin

inline constexpr const char* kAllDevices = "all";

// What one side of a comparison has of its own, over what both have.
struct SideSettings {
  std::vector<PluginOverride> plugins;
  std::string python;               // interpreter of every Python backend, whatever the suite says; empty: none of its own
  Variables variables;              // of the workers' environment
  std::vector<std::string> typed;   // all of it, as given: "python=new/bin/python"
};

struct RunOptions {
  Installation installation;
  std::string device = "auto";  // "auto" (a GPU when there is one), "cpu", "cuda", "cuda:N", or kAllDevices: the CPU and the first GPU
  std::vector<PluginOverride> plugins;
  std::string python;           // interpreter of Python backends that name none; empty: that of $VIRTUAL_ENV, else python3
  std::vector<SideSettings> sides;  // none, or a and b: b is held against a, and no baseline is looked at
  std::set<Gate> gates{Gate::numerics, Gate::kernels, Gate::copies, Gate::kernel_path, Gate::latency, Gate::memory};
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);           // of one phase of a trial
  std::chrono::nanoseconds prepare_timeout = std::chrono::minutes(10);   // of loading a plugin and of `open`
  std::optional<std::chrono::nanoseconds> budget;                        // of the whole run: what is left then is skipped
  std::optional<double> max_cost_flops;                                  // empty: the device's default, kCpuMaxCost
  std::uint64_t seed = 1;
  std::size_t first_blocks = 2, most_blocks = 5;                         // processes in which a latency is measured
  bool require_baseline = false;
  std::string commit_id;
  std::vector<std::string> command;                                      // as typed, for the record
  std::string rules_file, baseline_directory;                            // as given, for the reproducing commands; empty: the defaults
};

inline constexpr double kCpuMaxCost = 10e9;  // of a case that a CPU runs without being asked to
// What a case costs in flops: its own, and kFlopsPerByte for each byte that it must move (decoding moves much and computes little).
inline constexpr double kFlopsPerByte = 8;
double cost(const Case& value);

struct PlannedSuite {
  Suite suite;
  std::vector<Trial> trials;
};

// Where baselines come from; null = there is none.
class BaselineSource {
 public:
  virtual ~BaselineSource() = default;
  virtual const Baseline* counts(const Measurement& measurement) const = 0;  // by arch
  virtual const Baseline* times(const Measurement& measurement) const = 0;   // by platform
};

// A run's head: a fresh run_id, started_at, and commit and command of the options. For whoever stores a run before it begins.
RunResult new_run(const RunOptions& options);

// Measures and judges. Of two sides every row is measured on one and at once on the other, in fresh processes, block by block; a is judged by itself, and the
// exit code is b's. Throws Error when the sides do not measure the same device. Returns `head` with everything filled in. `interrupted` is looked at several times a second; once true, the workers are stopped and what was measured is returned with ExitCode::interrupted.
RunResult run(RunResult head, const std::vector<PlannedSuite>& suites, const RunOptions& options, const Rules& rules, const BaselineSource& baselines,
              RunObserver& observer, const std::atomic<bool>& interrupted);

// The reason why a case is too costly for this device, with the flag that runs it; empty when it is not.
std::string too_costly(const Case& value, DeviceType device, const RunOptions& options);

// Whether each trial could run here, without running it: ok, unsupported, skipped (too costly) and the reason. In the order of `trials`.
struct TrialSupport {
  Status status = Status::ok;
  std::string reason;
  std::optional<std::int64_t> workspace_bytes;
};
// By what a backend answered when it was asked for support alone: what it cannot do is said whatever it would cost, because no --max-cost runs it.
TrialSupport support_of(const MeasurementRecord& answer, const std::string& too_costly);
std::vector<TrialSupport> supports(const std::vector<Trial>& trials, const RunOptions& options, const std::atomic<bool>& interrupted);

}  // namespace attn
