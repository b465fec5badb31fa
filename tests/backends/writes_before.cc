// Writes one element before the start of o.
// expect: suite=plain status=wrong reason="before the start of o"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    o_.set(0, 0, 0, -1, 1);
  }
};
ATTN_BACKENDS(Mutant)
