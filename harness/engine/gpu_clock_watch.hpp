#pragma once
// How the GPU was doing while calls were timed: clocks, what slowed it, who else used it.

#include <algorithm>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include "core/measurement.hpp"
#include "gpu/nvml.hpp"
#include "stats/summary.hpp"

namespace attn {

class ClockWatch {
 public:
  explicit ClockWatch(const Nvml* nvml) : nvml_(nvml) {}

  // To be called while the GPU works; outside every timed stretch of the host.
  void sample() {
    if (!nvml_) return;
    const ClockState state = nvml_->clocks();
    if (state.sm_mhz) mhz_.push_back(*state.sm_mhz);
    reasons_.insert(state.throttle_reasons.begin(), state.throttle_reasons.end());
    others_ = std::max(others_, other_processes());
  }

  void report(Block& block) const {
    if (!mhz_.empty()) block.sm_clock_mhz = median(mhz_);
    for (const std::string& reason : reasons_)
      if (block.throttle.find(reason) == std::string::npos) block.throttle += (block.throttle.empty() ? "" : ", ") + reason;
    block.other_processes = std::max(block.other_processes, others_);
  }

 private:
  std::int64_t other_processes() const {
    // In a MIG slice NVML names the neighbours' processes too, who do not share it.
    const auto processes = nvml_->mig() ? std::nullopt : nvml_->computing_processes();
    if (!processes) return 0;
    // In a container the driver may number processes otherwise than we do: then one of them is this one.
    const auto own = std::count(processes->begin(), processes->end(), static_cast<std::int64_t>(getpid()));
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(processes->size()) - std::max<std::int64_t>(own, 1));
  }

  const Nvml* nvml_;
  std::vector<double> mhz_;
  std::set<std::string> reasons_;
  std::int64_t others_ = 0;
};

}  // namespace attn
