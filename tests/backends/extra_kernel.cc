// Right, with a kernel that a call does not need.
// expect: suite=counted status=ok verdict=regressed exit=1 verdict_reason="kernel" check="row['counts']['kernels'] == {'low': 2, 'high': 2}"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    { const attn::Op op(call, ATTN_OP_KERNEL, "cpu_cast_q"); }
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
