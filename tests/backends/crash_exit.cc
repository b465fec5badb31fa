// Answers right, and dies when its process ends: what was measured counts.
// expect: suite=two_cases status=ok
#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
};
ATTN_BACKENDS(Mutant)

__attribute__((destructor)) static void unloaded() { attn::segfault(); }
