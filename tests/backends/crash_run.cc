// Writes to address 8 in run.
// expect: suite=plain status=crashed reason="SIGSEGV.*in phase bare"
#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { attn::segfault(); }
};
ATTN_BACKENDS(Mutant)
