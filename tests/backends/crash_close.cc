// Answers right and dies in close.
// expect: suite=plain status=crashed reason="SIGSEGV"
#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  ~Mutant() override { attn::segfault(); }
};
ATTN_BACKENDS(Mutant)
