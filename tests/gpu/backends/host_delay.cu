// The host sleeps 1.3 ms before the launch: no kernel is slower, every call is (CASES R18).
// expect: suite=time gates=numerics,latency status=ok check="times['host_ns'] > 1.2e6 and times['device_ns'] < 1e5"
#include <chrono>
#include <thread>

#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    std::this_thread::sleep_for(std::chrono::microseconds(1300));
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
