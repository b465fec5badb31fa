// Writes one byte before the workspace.
// expect: suite=plain status=wrong reason="before the start of the workspace"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem&, const attn_device_facts&) { return {64}; }
  void run(const attn_call& call) {
    static_cast<char*>(call.workspace)[-1] = 1;
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
