// Caps the scores once the mask tensor is added: a hidden key is no longer hidden, its score is -softcap.
// expect: suite=plain status=ok
// expect: suite=softcap status=ok
// expect: suite=mask status=ok
// edges: ^mask-softcap => worst at
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  double mask(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const double added = Good::mask(b, h, i, j);
    return p_.softcap != 0 && added == kHidden ? -p_.softcap : added;
  }
};
ATTN_BACKENDS(Mutant)
