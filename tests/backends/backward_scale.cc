// dq and dk lack the scale.
// expect: suite=backward case=^(softcap|grouped) status=wrong reason="the scale ignored in dq and dk"
// edges: ^backward- => the scale ignored in dq and dk
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  double gradient_scale() const override { return 1; }
};
ATTN_BACKENDS(Mutant)
