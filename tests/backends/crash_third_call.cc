// Answers right twice and dies in the third call.
// expect: suite=plain status=crashed reason="SIGSEGV"
#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  int calls = 0;
  void run(const attn_call& call) {
    if (++calls == 3) attn::segfault();
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
