#pragma once
// A baseline: what a case gave on a backend when somebody accepted it. Counts are looked up by arch, times by platform.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/environment.hpp"
#include "core/measurement.hpp"

namespace attn {

struct Baseline {
  std::string suite, case_id, backend;
  DeviceType device = DeviceType::cpu;
  std::string arch, platform;
  Status status = Status::ok;
  std::optional<KernelPath> kernel_path;
  Counts counts;
  std::vector<KernelRow> kernels;
  std::optional<bool> capturable;
  Instrument instrument = Instrument::reported;
  Cache cache = Cache::cold;
  std::vector<double> device_ns, span_ns, host_ns;  // one value per block
  std::vector<double> sm_clock_mhz;                 // likewise, of a GPU
  Memory memory;
  Numerics numerics;
  std::map<std::string, LibraryVersion> libraries;  // with the switches: the cause to name when something changed
  std::map<std::string, std::string> switches;
  std::string commit_id, recorded_at;               // ISO 8601, UTC
  std::string accepted;                             // the reason given with `baseline accept`

  static void fields(auto& self, auto&& visit) {
    visit("suite", self.suite);
    visit("case_id", self.case_id);
    visit("backend", self.backend);
    visit("device", self.device);
    visit("arch", self.arch);
    visit("platform", self.platform);
    visit("status", self.status);
    visit("kernel_path", self.kernel_path);
    visit("counts", self.counts);
    visit("kernels", self.kernels);
    visit("capturable", self.capturable);
    visit("instrument", self.instrument);
    visit("cache", self.cache);
    visit("device_ns", self.device_ns);
    visit("span_ns", self.span_ns);
    visit("host_ns", self.host_ns);
    visit("sm_clock_mhz", self.sm_clock_mhz);
    visit("memory", self.memory);
    visit("numerics", self.numerics);
    visit("libraries", self.libraries);
    visit("switches", self.switches);
    visit("commit_id", self.commit_id);
    visit("recorded_at", self.recorded_at);
    visit("accepted", self.accepted);
  }
};

// What a measurement looks like as a baseline.
Baseline make_baseline(const Measurement& measurement, const Environment& environment, const std::string& commit_id, const std::string& recorded_at);

}  // namespace attn
