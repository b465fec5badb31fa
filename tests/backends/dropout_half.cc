// Drops with half the probability that was asked for, and scales to match.
// edges: ^dropout => dropout of another probability, about 0\.0
// expect: suite=dropout status=wrong reason="^scatters like dropout of another probability, about 0.1"
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  void run(const attn_call& call) {
    const double asked = p_.dropout;
    p_.dropout /= 2;
    Trained::run(call);
    p_.dropout = asked;
  }
};
ATTN_BACKENDS(Mutant)
