// The mask tensor is accepted and dropped.
// expect: suite=mask status=wrong reason="mask ignored"
// expect: suite=plain status=ok
// edges: ^masks => the mask ignored
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    t_.mask = nullptr;
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
