// Uses the mask of head 0 for every head.
// expect: suite=mask status=wrong reason="only head 1"
// edges: ^masks => only head 1
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  double mask(std::int64_t b, std::int64_t, std::int64_t i, std::int64_t j) const override { return Good::mask(b, 0, i, j); }
};
ATTN_BACKENDS(Mutant)
