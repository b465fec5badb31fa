// Compiles in its first call: 300 ms once, which no steady time may show.
// expect: suite=time gates=numerics,latency status=ok check="times['first_ns'] > 3e8 and times['second_ns'] < 1e8 and times['device_ns'] < 1e8"
#include <chrono>
#include <thread>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    if (calls_++ == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    Good::run(call);
  }

 private:
  int calls_ = 0;
};
ATTN_BACKENDS(Mutant)
