// Never returns from being loaded.
// expect: suite=plain status=timed_out seconds=12 reason="within 2 s while loading"
#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
};
ATTN_BACKENDS(Mutant)

__attribute__((constructor)) static void loaded() { attn::sleep_for_ever(); }
