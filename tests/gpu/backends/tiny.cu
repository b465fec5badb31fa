// A call of next to no work: neither the wait for the GPU nor the host's pace may end up in its times (CASES R60).
// expect: suite=one gates=numerics,kernels,latency status=ok check="times['instrument'] == 'cupti' and 500 < times['device_ns'] < 20e3 and times['span_ns'] < 30e3"
#include "good.cuh"

__global__ void tiny_attention(attn::Attention a) {
  if (threadIdx.x < a.head_dim_v) a.o.set(0, 0, 0, threadIdx.x, a.v.get(0, 0, 0, threadIdx.x));  // of one key
}

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) { attn::launch(tiny_attention, 1, 32, attn::stream_of(call), "tiny_attention", a_); }
};
ATTN_BACKENDS(Mutant)
