// Keeps 1 MiB more of the stream's pool after every call: nothing that asks the driver for free memory sees blocks inside a pool.
// expect: suite=memory gates=numerics,kernels,memory status=ok verdict=regressed exit=1 verdict_reason="memory grows by [0-9]+ B" check="row['memory']['growth_bytes'] >= 1 << 20"
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    void* kept = nullptr;
    attn::check(cudaMallocAsync(&kept, 1 << 20, attn::stream_of(call)), "cudaMallocAsync");
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
