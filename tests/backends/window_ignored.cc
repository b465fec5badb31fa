// The window is accepted and dropped.
// expect: suite=window status=wrong reason="window ignored"
// expect: suite=causal status=ok
// edges: ^window => the window ignored
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    p_.window_left = p_.window_right = -1;
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
