#pragma once
// What one trial gave: status, counts per call, times per block, numerics, memory. What could not be measured is empty, never zero.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/activity.hpp"
#include "core/words.hpp"

namespace attn {

// A count per call; calls that disagree give a range.
struct CountRange {
  std::int64_t low = 0, high = 0;
  static void fields(auto& self, auto&& visit) {
    visit("low", self.low);
    visit("high", self.high);
  }
  bool operator==(const CountRange&) const = default;
};

// "5" or "5..6".
inline std::string to_string(const CountRange& range) {
  return range.low == range.high ? std::to_string(range.low) : std::to_string(range.low) + ".." + std::to_string(range.high);
}

// Per call. `copies` = memcpys of every direction + kernels classed as copy; `copy_bytes` sums the memcpys.
struct Counts {
  std::optional<CountRange> kernels, copies, copy_bytes, memsets;
  std::optional<CountRange> launches{}, synchronisations{}, allocations{}, frees{};  // by the host, inside the call; on a GPU only
  static void fields(auto& self, auto&& visit) {
    visit("kernels", self.kernels);
    visit("copies", self.copies);
    visit("copy_bytes", self.copy_bytes);
    visit("memsets", self.memsets);
    visit("launches", self.launches);
    visit("synchronisations", self.synchronisations);
    visit("allocations", self.allocations);
    visit("frees", self.frees);
  }
  bool operator==(const Counts&) const = default;
};

// One line of the multiset of a call: what, classed, how often, how long altogether.
struct KernelRow {
  std::int64_t ordinal = 0;  // place of the first occurrence within the call, from 0
  ActivityKind kind = ActivityKind::kernel;
  ActivityClass activity_class = ActivityClass::other;
  std::string name;                   // normalised
  std::optional<std::int64_t> bytes;  // of one occurrence
  CountRange count;
  std::optional<double> device_ns;    // of all occurrences in one call, median over calls
  std::optional<GemmKind> gemm_kind{};
  static void fields(auto& self, auto&& visit) {
    visit("ordinal", self.ordinal);
    visit("kind", self.kind);
    visit("class", self.activity_class);
    visit("gemm_kind", self.gemm_kind);
    visit("name", self.name);
    visit("bytes", self.bytes);
    visit("count", self.count);
    visit("device_ns", self.device_ns);
  }
};

// The times of one trial in one process: the unit of independence. Medians over `calls` calls, in nanoseconds per call.
struct Block {
  Instrument instrument = Instrument::reported;  // of device_ns
  std::int64_t calls = 0;
  std::optional<double> plan_ns;    // open
  std::optional<double> first_ns, second_ns;
  std::optional<double> host_ns;    // CPU time to enqueue a call
  std::optional<double> span_ns;    // first start to last end, gaps included
  std::optional<double> device_ns;  // union of the busy intervals
  std::optional<double> drift;      // median of the last third over median of the first third of device_ns
  std::optional<double> sm_clock_mhz{};  // of a GPU while it worked, median
  std::string throttle{};           // what slowed the GPU meanwhile: "power cap"; empty: nothing, or not known
  std::int64_t other_processes = 0; // that computed on the GPU meanwhile
  static void fields(auto& self, auto&& visit) {
    visit("instrument", self.instrument);
    visit("calls", self.calls);
    visit("plan_ns", self.plan_ns);
    visit("first_ns", self.first_ns);
    visit("second_ns", self.second_ns);
    visit("host_ns", self.host_ns);
    visit("span_ns", self.span_ns);
    visit("device_ns", self.device_ns);
    visit("drift", self.drift);
    visit("sm_clock_mhz", self.sm_clock_mhz);
    visit("throttle", self.throttle);
    visit("other_processes", self.other_processes);
  }
};

// Adds what `more`, of the same process, has measured.
inline void merge(Block& block, const Block& more) {
  if (more.device_ns) {
    block.instrument = more.instrument;
    block.calls = more.calls;
    block.device_ns = more.device_ns;
    block.drift = more.drift;
  }
  for (const auto field : {&Block::first_ns, &Block::second_ns, &Block::host_ns, &Block::span_ns})
    if (more.*field) block.*field = more.*field;
  if (more.sm_clock_mhz) block.sm_clock_mhz = more.sm_clock_mhz;
  if (!more.throttle.empty()) block.throttle = more.throttle;
  block.other_processes = std::max(block.other_processes, more.other_processes);
}

// Errors against the double-precision reference; `budget` is what a naive evaluation in the same dtype is allowed (DESIGN section 2).
struct Numerics {
  std::optional<double> max_abs_error, mean_abs_error, rel_error;  // rel_error = ||out - ref|| / ||ref|| over the checked rows
  std::optional<double> max_budget, mean_budget;
  std::int64_t rows_checked = 0;
  std::string diagnosis;  // "equals the reference with softcap ignored"; empty when nothing matched or nothing was wrong
  static void fields(auto& self, auto&& visit) {
    visit("max_abs_error", self.max_abs_error);
    visit("mean_abs_error", self.mean_abs_error);
    visit("rel_error", self.rel_error);
    visit("max_budget", self.max_budget);
    visit("mean_budget", self.mean_budget);
    visit("rows_checked", self.rows_checked);
    visit("diagnosis", self.diagnosis);
  }
};

struct Memory {
  std::optional<std::int64_t> workspace_bytes;  // harness-owned, exact
  std::optional<std::int64_t> peak_bytes;       // above the inputs, per call: outputs and workspace
  std::optional<std::int64_t> growth_bytes;     // per call over many calls; 0 = steady
  std::string source;                           // what these numbers come from
  std::optional<std::int64_t> prepare_peak_bytes{};  // that open held at most, above what was held before it; a worker's first case also pays what a library takes once
  std::string prepare_source{};                 // what this one comes from: "allocator", "cupti", "resident"
  static void fields(auto& self, auto&& visit) {
    visit("workspace_bytes", self.workspace_bytes);
    visit("peak_bytes", self.peak_bytes);
    visit("growth_bytes", self.growth_bytes);
    visit("source", self.source);
    visit("prepare_peak_bytes", self.prepare_peak_bytes);
    visit("prepare_source", self.prepare_source);
  }
};

struct Measurement {
  std::string suite, case_id, backend;
  DeviceType device = DeviceType::cpu;
  std::string arch, platform;
  Status status = Status::ok;
  std::string reason;        // one line, why the status is not ok; hostile text
  std::string output;        // the tail of what the backend printed, when it did not end well; hostile text
  std::string backend_version;
  Cache cache = Cache::cold;
  bool control = false;      // a control row: shows how the machine is
  std::optional<KernelPath> kernel_path;
  Counts counts;
  std::vector<KernelRow> kernels;
  std::optional<bool> capturable;  // into a CUDA graph
  std::vector<CallActivities> calls;  // raw, so that old rows can be classified again
  std::vector<Block> blocks;
  Numerics numerics;
  Memory memory;
  static void fields(auto& self, auto&& visit) {
    visit("suite", self.suite);
    visit("case_id", self.case_id);
    visit("backend", self.backend);
    visit("device", self.device);
    visit("arch", self.arch);
    visit("platform", self.platform);
    visit("status", self.status);
    visit("reason", self.reason);
    visit("output", self.output);
    visit("backend_version", self.backend_version);
    visit("cache", self.cache);
    visit("control", self.control);
    visit("kernel_path", self.kernel_path);
    visit("counts", self.counts);
    visit("kernels", self.kernels);
    visit("capturable", self.capturable);
    visit("calls", self.calls);
    visit("blocks", self.blocks);
    visit("numerics", self.numerics);
    visit("memory", self.memory);
  }
};

// The values of one metric over the blocks that have it, for example times(m, &Block::device_ns).
inline std::vector<double> times(const std::vector<Block>& blocks, std::optional<double> Block::*metric) {
  std::vector<double> values;
  for (const Block& block : blocks)
    if (block.*metric) values.push_back(*(block.*metric));
  return values;
}

}  // namespace attn
