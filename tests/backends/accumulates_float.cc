// Computes in float with the heads' sums in the order of the keys: another rounding, no fault.
// expect: suite=plain status=ok
// expect: suite=long status=ok
// expect: suite=dtypes status=ok
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  double rounded(double value) const override { return static_cast<float>(value); }
};
ATTN_BACKENDS(Mutant)
