// Scales q in place, as if its inputs were its own.
// expect: suite=plain status=wrong reason="inputs"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    q_.set(0, 0, 0, 0, 2 * q_.get(0, 0, 0, 0) + 1);
  }
};
ATTN_BACKENDS(Mutant)
