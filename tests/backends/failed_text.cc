// Fails in run with a reason.
// expect: suite=plain status=failed reason="no tile of 17 rows"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { throw std::runtime_error("no tile of 17 rows"); }
};
ATTN_BACKENDS(Mutant)
