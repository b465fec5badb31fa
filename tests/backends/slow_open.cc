// Takes 300 ms to open: the plan's time, no call's.
// expect: suite=time gates=numerics,latency status=ok check="times['plan_ns'] > 3e8 and times['first_ns'] < 1e8"
#include <chrono>
#include <thread>

#include "good.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
};
ATTN_BACKENDS(Mutant)
