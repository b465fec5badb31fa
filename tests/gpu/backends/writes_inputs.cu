// Scales q in place, as if its inputs were its own.
// expect: suite=plain status=wrong reason="inputs"
#include "good.cuh"

__global__ void attention_scales_q(attn::Attention a) { a.q.set(0, 0, 0, 0, 2 * a.q.get(0, 0, 0, 0) + 1); }

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    attn::launch(attention_scales_q, 1, 1, attn::stream_of(call), "attention_scales_q", a_);
  }
};
ATTN_BACKENDS(Mutant)
