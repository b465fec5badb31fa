// Reads a mask tensor's first tile of rows; later rows take the last one of these.
// expect: suite=plain status=ok
// edges: ^mask-past-tiles => worst at
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  double mask(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const override { return Good::mask(b, h, std::min<std::int64_t>(i, 63), j); }
};
ATTN_BACKENDS(Mutant)
