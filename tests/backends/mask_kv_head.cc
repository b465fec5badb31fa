// Takes for every query head the mask of its KV head's number.
// expect: suite=plain status=ok
// edges: ^mask-past-tiles => worst at
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  double mask(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const override { return Good::mask(b, kv_head(h), i, j); }
};
ATTN_BACKENDS(Mutant)
