// Is wrong in the calls in which odd_calls is right.
// expect: suite=plain status=wrong reason="."
// expect: suite=plain gates=numerics,latency status=wrong reason="."
// expect: suite=plain gates=numerics,kernels,latency status=wrong reason="."
// edges: ^formats => \b1 of \d+ checked rows is off
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    if (calls_++ % 2 == 0) o_.set(0, 0, 0, 0, o_.get(0, 0, 0, 0) + 0.01);
  }

 private:
  std::int64_t calls_ = 0;
};
ATTN_BACKENDS(Mutant)
