// Writes to address 8 while it is loaded, before any function of it is called.
// expect: suite=plain status=crashed reason="SIGSEGV.*while loading"
// list: mutant +crashed +SIGSEGV
#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
};
ATTN_BACKENDS(Mutant)

__attribute__((constructor)) static void loaded() { attn::segfault(); }
