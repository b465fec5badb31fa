// Writes one element after the end of o.
// expect: suite=plain status=wrong reason="after the end of o"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    o_.set(p_.batch - 1, p_.heads - 1, p_.seq_q - 1, p_.head_dim_v, 1);
  }
};
ATTN_BACKENDS(Mutant)
