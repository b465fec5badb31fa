// Right, and slow in its forward pass alone.
// expect: suite=passes how=baseline gates=numerics,kernels,latency case="^backward:" status=ok verdict=pass exit=1 seconds=60
// expect: suite=passes how=baseline gates=numerics,kernels,latency case="^(forward|both):" status=ok verdict=regressed exit=1 seconds=60 verdict_reason="^device_ns .*: flash_fwd_cpu [0-9.e+]+x slower"
#include <chrono>
#include <thread>

#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  void write(std::int64_t b, std::int64_t h, std::int64_t i, const std::vector<double>& row) const override {
    if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(40));
    Trained::write(b, h, i, row);
  }
};
ATTN_BACKENDS(Mutant)
