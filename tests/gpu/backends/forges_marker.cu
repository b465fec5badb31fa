// Launches a kernel of the name with which the harness marks where calls begin and end.
// expect: suite=plain status=cannot_measure reason="marker"
#include "good.cuh"

extern "C" __global__ void attn_harness_marker() {}

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    attn::launch(attn_harness_marker, 2, 1, attn::stream_of(call), "attn_harness_marker");
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
