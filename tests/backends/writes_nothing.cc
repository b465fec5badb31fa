// Returns ok and writes nothing.
// expect: suite=plain status=wrong reason="not written|never written|unwritten"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) { const attn::Op op(call, ATTN_OP_KERNEL, "flash_fwd_cpu"); }
};
ATTN_BACKENDS(Mutant)
