// Resets the device inside the call, as a library that cleans up after itself might: the harness's own memory and stream are gone with it.
// expect: suite=plain status=failed|crashed|cannot_measure|wrong reason="."  exit=1|5
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    attn::check(cudaDeviceReset(), "cudaDeviceReset");
  }
};
ATTN_BACKENDS(Mutant)
