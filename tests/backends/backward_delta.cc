// dS = P dP: the row sum of dO * O is never subtracted.
// expect: suite=backward case=^(softcap|grouped) status=wrong reason="rowsum\(dO \* O\) ignored"
// edges: ^backward- => rowsum\(dO \* O\) ignored
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  double delta(double) const override { return 0; }
};
ATTN_BACKENDS(Mutant)
