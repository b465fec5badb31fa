// Declines as late as in run.
// expect: suite=plain status=unsupported|failed exit=0|1 reason="not today"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { throw attn::Unsupported("not today"); }
};
ATTN_BACKENDS(Mutant)
