// Writes to address 8 in supports.
// expect: suite=plain status=crashed reason="SIGSEGV.*in phase open"
// list: mutant +crashed +SIGSEGV
#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem&, const attn_device_facts&) {
    attn::segfault();
    return {};
  }
};
ATTN_BACKENDS(Mutant)
