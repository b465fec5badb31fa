// Names a kernel like one of the harness's, which count in no call. That is not counted wrong: it cannot be measured.
// expect: suite=plain status=cannot_measure reason="of the harness ran inside call"
#include "good.cuh"

extern "C" __global__ void attn_harness_extra() {}

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    attn::launch(attn_harness_extra, 1, 1, attn::stream_of(call), "attn_harness_extra");
  }
};
ATTN_BACKENDS(Mutant)
