// The backward pass takes for every query head the mask of its KV head's number.
// expect: suite=backward case=^grouped status=ok
// edges: ^backward-masks => dq: worst at
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  double mask(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const override { return Trained::mask(b, goes_back_ ? kv_head(h) : h, i, j); }
};
ATTN_BACKENDS(Mutant)
