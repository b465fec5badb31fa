// Keeps 1 MiB of the device's memory more after every call.
// expect: suite=memory gates=numerics,kernels,memory status=ok verdict=regressed exit=1 verdict_reason="memory grows by [0-9]+ B" check="row['memory']['growth_bytes'] >= 1 << 20"
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    void* kept = nullptr;
    attn::check(cudaMalloc(&kept, 1 << 20), "cudaMalloc");
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
