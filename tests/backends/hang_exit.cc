// Answers right, and hangs when its process ends: what was measured counts, and the run goes on.
// expect: suite=plain status=ok seconds=12
#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
};
ATTN_BACKENDS(Mutant)

__attribute__((destructor)) static void unloaded() { attn::sleep_for_ever(); }
