// Takes for every query head the ALiBi slope of its KV head's number.
// expect: suite=alibi status=ok
// edges: ^alibi-heads => worst at
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  double mask(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    if (!t_.alibi) return Good::mask(b, h, i, j);
    const auto* const slopes = static_cast<const float*>(t_.alibi->data);
    return Good::mask(b, h, i, j) + static_cast<double>(slopes[h] - slopes[kv_head(h)]) * static_cast<double>(std::abs(i + offset(b) - j));
  }
};
ATTN_BACKENDS(Mutant)
