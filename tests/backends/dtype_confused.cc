// Reads bf16 as fp16.
// expect: suite=dtypes case=bf16 status=wrong reason="."
// expect: suite=dtypes case=^dtype:fp16 status=ok exit=1
// edges: ^formats:bf16 => worst at
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    q_.dtype = q_.dtype == ATTN_BF16 ? ATTN_FP16 : q_.dtype;
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
