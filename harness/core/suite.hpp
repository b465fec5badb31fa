#pragma once
// What a suite file says, as values: cases, backends, gates, expectations, waivers; and the plan that follows from it.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "core/case.hpp"
#include "core/operation_class.hpp"

namespace attn {

struct SuiteCase {
  Case value;
  std::vector<std::string> tags;
  Place place;
};

// One of: a built-in name, a native plugin, a Python class.
struct BackendSpec {
  std::string name;
  std::string plugin;       // path of a shared library; empty = built in
  std::string plugin_name;  // the backend's name inside the plugin when it differs
  std::string python;       // "file.py:Class"
  std::string interpreter;
  std::string build;        // command that makes the plugin
  std::map<std::string, std::string> options;
  Place place;
};

// Which rows a gate, an expectation or a waiver speaks of; what is empty selects all.
struct Selector {
  std::vector<std::string> backends;
  std::string cases;                            // regular expression, searched in the case id and the tags
  std::optional<DeviceType> device;
  std::string arch;                             // exact
  std::map<std::string, std::string> versions;  // library -> condition such as ">=2.11"
};

// How far latency may move. Alarm almost never below `tolerate`, almost always above `detect` (ratios minus 1: 0.01 = 1 %).
struct LatencyGate {
  LatencyMetric metric = LatencyMetric::device;
  double tolerate = 0.01, detect = 0.03;
  double floor_ns = 0;  // differences below are never a regression
};

// The limits of one row. Bytes and counts above the baseline.
struct Gates {
  std::set<Gate> enabled{Gate::numerics, Gate::kernels, Gate::copies, Gate::kernel_path, Gate::latency, Gate::memory};
  std::set<Gate> switched_off;  // by the suite, of those that were asked for
  std::int64_t extra_kernels = 0;
  std::int64_t extra_copies = 0;
  std::int64_t extra_copy_bytes = 0;
  double memory_tolerate = 0;         // ratio minus 1 of a peak
  std::int64_t memory_floor_bytes = 0;
  std::optional<LatencyGate> latency;  // empty: the device's default (a CPU: tolerate 25 %, detect 50 %; a GPU: 1 %, 3 %)
};

// One entry of `gates:`; later entries override earlier ones where they select the same row. Fields that are empty say nothing.
struct GateRule {
  Selector where;
  std::optional<std::int64_t> extra_kernels, extra_copies, extra_copy_bytes;
  std::optional<double> memory_tolerate;
  std::optional<std::int64_t> memory_floor_bytes;
  std::optional<LatencyMetric> latency_metric;
  std::optional<double> latency_tolerate, latency_detect, latency_floor_ns;
  std::set<Gate> off;  // `kernels: off`
};

struct CountBound {
  std::int64_t low = 0;
  std::optional<std::int64_t> high;  // empty = no upper bound
};

// A peak of memory grows with a size to the power `at_most`: 1 = as the size does, 2 = as its square.
struct MemorySlope {
  SizeAxis over = SizeAxis::seq;
  double at_most = 1;
  PeakOf of = PeakOf::call;
};

// device_ns over that of the same case on another backend.
struct TimeRatio {
  std::string to;
  double at_most = 1;
};

// A hypothesis, judged even without a baseline. Fields that are empty say nothing.
struct Expectation {
  Selector where;
  std::optional<CountBound> kernels, copies, copy_bytes, memsets;
  std::optional<CountBound> launches, synchronisations, allocations;  // by the host, inside a call
  std::optional<bool> capturable;       // into a CUDA graph
  std::vector<KernelPath> kernel_path;  // any of these
  std::vector<OperationClass> no;       // what must not occur
  std::optional<bool> supported;
  std::optional<double> smooth;         // ratio minus 1 of device_ns to a neighbour in a sweep of sizes
  std::optional<MemorySlope> memory_slope;
  std::optional<TimeRatio> time_ratio;
  Place place;
};

// Turns a failure into `waived` until its day is over.
struct Waiver {
  Selector where;
  std::optional<Gate> metric;  // empty: every gate and every failing status of the row
  std::string reason;
  std::string expires;         // ISO date, the last day it holds
  Place place;
};

struct Suite {
  std::string name;
  std::string path;
  std::vector<SuiteCase> cases;
  std::vector<BackendSpec> backends;
  std::vector<GateRule> gates;
  std::vector<Expectation> expectations;
  std::vector<Waiver> waivers;
};

// One case on one backend, in the order in which it will run.
struct Trial {
  std::int64_t index = 0;
  std::string suite;
  Case value;
  std::string id;  // case_id(value)
  std::vector<std::string> tags;
  BackendSpec backend;
  Place place;     // of the case
  std::optional<Side> side{};  // of a comparison; empty: the run compares with baselines
};

}  // namespace attn
