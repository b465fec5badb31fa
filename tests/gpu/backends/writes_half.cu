// Writes the first half of every row.
// expect: suite=plain status=wrong reason="never written"
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    a_.head_dim_v /= 2;
    Good::run(call);
    a_.head_dim_v *= 2;
  }
};
ATTN_BACKENDS(Mutant)
