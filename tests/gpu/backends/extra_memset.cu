// Clears a workspace that it does not use.
// expect: suite=counted status=ok verdict=regressed exit=1 verdict_reason="memsets 1, expected 0" check="row['counts']['memsets'] == {'low': 1, 'high': 1} and row['counts']['kernels'] == {'low': 1, 'high': 1}"
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem&, const attn_device_facts&) { return {1024}; }
  void run(const attn_call& call) {
    attn::check(cudaMemsetAsync(call.workspace, 0, 1024, attn::stream_of(call)), "cudaMemsetAsync");
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
