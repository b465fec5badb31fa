// The softcap is accepted and ignored, as where it is fixed when the plan is made (sgl-project/sglang#33915).
// expect: suite=softcap status=wrong reason="softcap ignored"
// expect: suite=softcap how=option status=wrong reason="softcap ignored"
// expect: suite=plain status=ok
// edges: ^softcap => softcap ignored
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    p_.softcap = 0;
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
