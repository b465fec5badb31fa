// Asks for 64 bytes of workspace and writes 72.
// expect: suite=plain status=wrong reason="after the end of the workspace"
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem&, const attn_device_facts&) { return {64}; }
  void run(const attn_call& call) {
    Good::run(call);
    attn::check(cudaMemsetAsync(call.workspace, 0, 72, attn::stream_of(call)), "cudaMemsetAsync");
  }
};
ATTN_BACKENDS(Mutant)
