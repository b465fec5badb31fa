// Never returns from supports.
// expect: suite=plain status=timed_out reason="2 ?s"
#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem&, const attn_device_facts&) {
    attn::sleep_for_ever();
    return {};
  }
};
ATTN_BACKENDS(Mutant)
