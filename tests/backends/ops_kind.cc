// Reports an operation of a kind that is none.
// expect: suite=plain status=cannot_measure reason="unknown kind 9"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    if (!call.ops) return;
    call.ops->begin(call.ops->self, 9, "odd", 0);
    call.ops->end(call.ops->self);
  }
};
ATTN_BACKENDS(Mutant)
