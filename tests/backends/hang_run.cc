// Never returns from run.
// expect: suite=plain status=timed_out reason="2 ?s"
#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { attn::sleep_for_ever(); }
};
ATTN_BACKENDS(Mutant)
