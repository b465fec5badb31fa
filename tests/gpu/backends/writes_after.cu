// Writes one element after the end of o.
// expect: suite=plain status=wrong reason="after the end of o"
#include "good.cuh"

__global__ void attention_too_far(attn::Attention a) { a.o.set(a.batch - 1, a.heads - 1, a.seq_q - 1, a.head_dim_v, 1); }

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    attn::launch(attention_too_far, 1, 1, attn::stream_of(call), "attention_too_far", a_);
  }
};
ATTN_BACKENDS(Mutant)
