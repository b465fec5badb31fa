// Right, and clears the output first.
// expect: suite=counted status=ok verdict=regressed exit=1 verdict_reason="memset" check="row['counts']['memsets'] == {'low': 1, 'high': 1}"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    { const attn::Op op(call, ATTN_OP_MEMSET, "memset_o", 1024); }
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
