// Ends an operation that it never began: what cannot be counted is not counted, rather than guessed.
// expect: suite=plain status=cannot_measure reason="never began"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    if (call.ops) call.ops->end(call.ops->self);
  }
};
ATTN_BACKENDS(Mutant)
