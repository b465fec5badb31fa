// Right, with a copy that a call does not need.
// expect: suite=counted status=ok verdict=regressed exit=1 verdict_reason="cop" check="row['counts']['copies'] == {'low': 1, 'high': 1} and row['counts']['copy_bytes'] == {'low': 1024, 'high': 1024}"
// expect: suite=plain status=ok
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    { const attn::Op op(call, ATTN_OP_MEMCPY, "memcpy_q", 1024); }
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
