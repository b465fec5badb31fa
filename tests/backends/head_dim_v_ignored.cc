// Takes head_dim_v to be head_dim.
// expect: suite=head_dim_v status=wrong reason="never written"
// expect: suite=plain status=ok
// edges: ^value-dims => never written
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    p_.head_dim_v = std::min(p_.head_dim, p_.head_dim_v);
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
