// Ends the process in run with exit code 0, without a word: the run must not pass for done.
// expect: suite=plain status=crashed reason="exit code 0 in phase bare"
#include <cstdlib>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { std::exit(0); }
};
ATTN_BACKENDS(Mutant)
