// Takes 1/sqrt(head_dim) whatever scale is asked for.
// expect: suite=scale status=wrong reason="scale ignored"
// expect: suite=plain status=ok
// edges: ^scale => scale ignored
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    p_.scale = 1 / std::sqrt(static_cast<double>(p_.head_dim));
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
