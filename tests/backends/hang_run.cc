// Never returns from run.
// expect: suite=plain status=timed_out seconds=12 reason="within 2 s in phase bare"
#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { attn::sleep_for_ever(); }
};
ATTN_BACKENDS(Mutant)
