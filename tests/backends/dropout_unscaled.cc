// Dropped weights are 0, but the others are not divided by 1 - p.
// edges: ^dropout => the scaling of dropout ignored
// expect: suite=dropout status=wrong reason="the scaling of dropout ignored"
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  double dropout_factor() const override { return 1; }
};
ATTN_BACKENDS(Mutant)
