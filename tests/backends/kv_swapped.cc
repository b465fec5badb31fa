// Takes k for v and v for k.
// expect: suite=plain status=wrong reason="equals the reference with k and v swapped"
// edges: ^formats => k and v swapped
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    std::swap(k_, v_);
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
