// Plans anew in every call, 40 ms each (pytorch/pytorch#191576).
// expect: suite=time gates=numerics,latency status=ok check="min(times['first_ns'], times['second_ns'], times['device_ns']) > 4e7"
#include <chrono>
#include <thread>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
