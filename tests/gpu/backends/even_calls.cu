// Is right in every second call.
// expect: suite=plain status=wrong reason="."
// expect: suite=plain gates=numerics,latency status=wrong reason="."
#include "nudge.cuh"

struct Mutant : attn::Nudged {
  using Nudged::Nudged;
  void run(const attn_call& call) { Nudged::run(call, calls_++ % 2 == 0); }

 private:
  std::int64_t calls_ = 0;
};
ATTN_BACKENDS(Mutant)
