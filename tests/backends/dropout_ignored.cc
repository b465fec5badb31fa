// Dropout is accepted and ignored.
// edges: ^dropout => dropout ignored
// expect: suite=dropout case=^forward status=wrong reason="equals the reference with dropout ignored"
// expect: suite=dropout status=wrong reason="dropout ignored"
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  void run(const attn_call& call) {
    p_.dropout = 0;
    Trained::run(call);
  }
};
ATTN_BACKENDS(Mutant)
