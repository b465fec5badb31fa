// Right, and slow exactly where the keys are a multiple of 16 (pytorch/pytorch#145760).
// expect: suite=sweep gates=numerics,latency case=q16[.]k16 status=ok verdict=regressed exit=1 seconds=60 verdict_reason="^device_ns .* ms between .* of its neighbours in size, .*x of the slower one .*, expected at most 4x$" check="min(times['first_ns'], times['device_ns']) > 2e7"
// expect: suite=sweep gates=numerics,latency case=q1[57][.] status=ok exit=1
#include <chrono>
#include <thread>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    if (p_.seq_kv % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
