// Right, and slow in its backward pass alone.
// expect: suite=passes how=baseline gates=numerics,kernels,latency case="^forward:" status=ok verdict=pass exit=1 seconds=60
// expect: suite=passes how=baseline gates=numerics,kernels,latency case="^(backward|both):" status=ok verdict=regressed exit=1 seconds=60 verdict_reason="^device_ns .*: flash_bwd_cpu [0-9.e+]+x slower"
#include <chrono>
#include <thread>

#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  void write_keys(const std::vector<double>& dk, const std::vector<double>& dv) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    Trained::write_keys(dk, dv);
  }
};
ATTN_BACKENDS(Mutant)
