// Ends the process with exit code 0 while it is loaded.
// expect: suite=plain status=crashed reason="exit code 0 while loading"
#include <unistd.h>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
};
ATTN_BACKENDS(Mutant)

__attribute__((constructor)) static void loaded() { _exit(0); }
