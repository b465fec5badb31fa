// Reads keys of the padding as if every sequence were full.
// expect: suite=lengths case=poisoned status=wrong reason="reads the padding"
// expect: suite=lengths case=plain status=wrong reason="lengths ignored"
// expect: suite=plain status=ok
// edges: ^lengths => lengths ignored
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    t_.lengths_q = t_.lengths_kv = nullptr;
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
