// The derivative of the softcap is left out of the backward pass.
// expect: suite=backward case=^softcap status=wrong reason="the softcap.s derivative ignored; dq: worst at"
// expect: suite=backward case=^grouped status=ok exit=1
// edges: ^backward-arguments => the softcap.s derivative ignored
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  double bend(double) const override { return 1; }
};
ATTN_BACKENDS(Mutant)
