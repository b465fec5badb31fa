// Reports a million operations in a call.
// expect: suite=plain status=cannot_measure reason="100000 operations"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    for (int i = 0; call.ops && i < 1'000'000; ++i) const attn::Op op(call, ATTN_OP_KERNEL, "again");
  }
};
ATTN_BACKENDS(Mutant)
