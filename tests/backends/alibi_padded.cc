// Counts ALiBi's distances from the diagonal of the padded sizes, not from the one of the sequence.
// expect: suite=alibi status=ok
// edges: ^(lengths|pages)-alibi => worst at
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  double mask(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    if (!t_.alibi || p_.alignment != ATTN_BOTTOM_RIGHT) return Good::mask(b, h, i, j);
    const std::int64_t own = i + offset(b), padded = i + p_.seq_kv - p_.seq_q;
    return Good::mask(b, h, i, j) + static_cast<double>(static_cast<const float*>(t_.alibi->data)[h]) * static_cast<double>(std::abs(own - j) - std::abs(padded - j));
  }
};
ATTN_BACKENDS(Mutant)
