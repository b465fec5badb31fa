// The ALiBi slopes are accepted and dropped.
// expect: suite=alibi status=wrong reason="ALiBi ignored"
// expect: suite=plain status=ok
// edges: ^alibi => ALiBi ignored
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    t_.alibi = nullptr;
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
