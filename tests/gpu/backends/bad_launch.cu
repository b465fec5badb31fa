// Launches more threads in a block than there can be, and says so: a failure of the call, not of the device.
// expect: suite=three case=first status=failed reason="run: too many threads: .*cudaErrorInvalid"
// expect: suite=three case="second|third" status=ok exit=1
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    if (a_.seq_q == 4) attn::launch(attn::good_attention, 1, 2048, attn::stream_of(call), "too many threads", a_, std::int64_t{0}, a_.elements());
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
