// Takes a bool mask's 1 for "hidden".
// expect: suite=mask case=bool status=wrong reason="mask's sense inverted"
// expect: suite=mask case=additive status=ok exit=1
// edges: ^masks => the mask's sense inverted
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  double mask(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    if (!(p_.needs & ATTN_CAN_MASK_BOOL)) return Good::mask(b, h, i, j);
    return Good::mask(b, h, i, j) == 0 ? kHidden : 0;
  }
};
ATTN_BACKENDS(Mutant)
