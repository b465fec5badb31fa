// Loses key 0 where a causal window meets another number of queries than of keys.
// expect: suite=window status=ok
// expect: suite=causal status=ok
// edges: ^decode-window => worst at
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  bool sees(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const bool decodes = p_.mask_kind == ATTN_MASK_CAUSAL && p_.window_left >= 0 && p_.seq_q != p_.seq_kv;
    return Good::sees(b, h, i, j) && !(decodes && j == 0);
  }
};
ATTN_BACKENDS(Mutant)
