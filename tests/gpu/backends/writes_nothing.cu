// Says that all went well and enqueues nothing: the answer of the call before must not pass for this one's.
// expect: suite=plain status=wrong reason="never written"
// expect: suite=plain gates=numerics status=wrong reason="never written"
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) {}
};
ATTN_BACKENDS(Mutant)
