// Writes one element into the gap between two rows of o.
// expect: suite=strided status=wrong reason="gap"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    o_.set(0, 0, 0, p_.head_dim_v, 1);
  }
};
ATTN_BACKENDS(Mutant)
