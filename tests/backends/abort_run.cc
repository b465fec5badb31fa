// Calls abort in run, as a failed assertion does.
// expect: suite=plain status=crashed reason="SIGABRT"
#include <cstdlib>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { std::abort(); }
};
ATTN_BACKENDS(Mutant)
