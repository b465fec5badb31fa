// Causality is accepted and dropped.
// expect: suite=causal status=wrong reason="causality ignored"
// expect: suite=plain status=ok
// edges: ^formats => causality ignored
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    p_.mask_kind = ATTN_MASK_NONE;
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
