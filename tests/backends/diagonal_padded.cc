// Anchors causality and windows at the corner of the padded sizes, not at that of the sequence.
// expect: suite=alignment status=ok
// expect: suite=causal status=ok
// edges: ^(lengths|pages)-(causal|window) => worst at
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  bool sees(std::int64_t b, std::int64_t, std::int64_t i, std::int64_t j) const override {
    const std::int64_t own = i + (p_.alignment == ATTN_BOTTOM_RIGHT ? p_.seq_kv - p_.seq_q : 0);
    if (i >= queries(b) || j >= keys(b)) return false;
    if (p_.mask_kind == ATTN_MASK_CAUSAL && j > own) return false;
    return (p_.window_left < 0 || j >= own - p_.window_left) && (p_.window_right < 0 || j <= own + p_.window_right);
  }
};
ATTN_BACKENDS(Mutant)
