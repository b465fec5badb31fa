// Is right in the first call only, as when a scratch value is not reset.
// expect: suite=plain status=wrong reason="."
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    p_.scale *= 1.5;
  }
};
ATTN_BACKENDS(Mutant)
