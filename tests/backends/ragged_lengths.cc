// Reads on past the end of a ragged sequence, into the next one's keys, as far as memory goes.
// expect: suite=rows_and_pages case=ragged status=wrong reason="lengths ignored"
// expect: suite=plain status=ok
// edges: ^ragged => lengths ignored
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  std::int64_t keys(std::int64_t b) const override {
    if (!t_.starts_kv) return Good::keys(b);
    return std::min(p_.seq_kv, std::int64_t{ints(t_.starts_kv)[p_.batch]} - ints(t_.starts_kv)[b]);
  }
};
ATTN_BACKENDS(Mutant)
