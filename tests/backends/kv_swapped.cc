// Takes k for v and v for k.
// expect: suite=plain status=wrong reason="."
// edges: .
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    std::swap(k_, v_);
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
