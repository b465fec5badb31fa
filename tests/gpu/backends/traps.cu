// Ends its kernel by a trap in one case of three.
// expect: suite=three case=first status=failed reason="cudaErrorLaunchFailure|cudaErrorIllegalInstruction"
// expect: suite=three case="second|third" status=ok exit=1
#include "good.cuh"

__global__ void attention_trap() { __trap(); }

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    if (a_.seq_q == 4) attn::launch(attention_trap, 1, 1, attn::stream_of(call), "attention_trap");
  }
};
ATTN_BACKENDS(Mutant)
