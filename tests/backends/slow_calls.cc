// Plans anew in every call, 40 ms each (pytorch/pytorch#191576).
// expect: suite=time gates=numerics,latency status=ok check="min(times['first_ns'], times['second_ns'], times['device_ns']) > 4e7"
// expect: suite=race gates=numerics,latency status=ok verdict=regressed exit=1 seconds=60 verdict_reason="^device_ns .* ms, .*x [(].*x to .*x[)] of good's .*, expected at most 10x$" check="' --backend mutant --backend good ' in row['reproduce']"
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
