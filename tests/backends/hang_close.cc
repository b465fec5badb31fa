// Never returns from close.
// expect: suite=plain status=timed_out seconds=12 reason="within 2 s"
#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  ~Mutant() override { attn::sleep_for_ever(); }
};
ATTN_BACKENDS(Mutant)
