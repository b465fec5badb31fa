// Enqueues a kernel that does not end, in one case of three. It does give up after five minutes, should nobody be able to end it: the card is not ours alone.
// expect: suite=three case=first status=timed_out reason="no answer within .* in phase accounting" seconds=100
// expect: suite=three case="second|third" status=ok exit=1 seconds=100
#include "good.cuh"

__global__ void attention_for_ever() { attn::wait_ns(300'000'000'000); }

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    if (a_.seq_q == 4) attn::launch(attention_for_ever, 1, 1, attn::stream_of(call), "attention_for_ever");
  }
};
ATTN_BACKENDS(Mutant)
