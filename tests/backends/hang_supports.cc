// Never returns from supports.
// expect: suite=plain status=timed_out seconds=12 reason="within 2 s in phase open"
#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem&, const attn_device_facts&) {
    attn::sleep_for_ever();
    return {};
  }
};
ATTN_BACKENDS(Mutant)
