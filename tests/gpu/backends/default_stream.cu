// Launches on the default stream, for which the call's stream does not wait.
// expect: suite=long status=wrong reason="stream does not wait for"
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { attend(cudaStreamLegacy); }
};
ATTN_BACKENDS(Mutant)
