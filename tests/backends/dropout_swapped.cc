// Takes the probability of dropping a weight for that of keeping it, and scales to match.
// edges: ^dropout => keep taken for drop
// expect: suite=dropout status=wrong reason="^equals the reference with keep taken for drop"
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  void run(const attn_call& call) {
    const double asked = p_.dropout;
    if (asked > 0) p_.dropout = 1 - asked;
    Trained::run(call);
    p_.dropout = asked;
  }
};
ATTN_BACKENDS(Mutant)
