// Reads a mask tensor's first tile of keys; keys behind it are seen.
// expect: suite=plain status=ok
// edges: ^mask-past-tiles => worst at
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  double mask(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const override { return j < 64 ? Good::mask(b, h, i, j) : 0; }
};
ATTN_BACKENDS(Mutant)
