// One kernel of 10 ms: what CUPTI records of it and what a pair of events measures around it are the same within half a per cent.
// expect: suite=plain gates=numerics,latency status=ok check="times['device_ns'] > 9.9e6 and times['instrument'] == 'cupti'"
// expect: suite=plain gates=numerics,latency status=ok check="abs(times['span_ns'] / times['device_ns'] - 1) < 0.005"
#include "good.cuh"

__global__ void long_attention(attn::Attention a) {
  if (blockIdx.x == 0) attn::wait_ns(10'000'000);
  const std::int64_t element = attn::thread_index();
  if (element >= a.elements()) return;
  const attn::Element at(a, element);
  a.o.set(at.b, at.h, at.i, at.d, attn::attend_element(a, at));
}

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    attn::launch(long_attention, attn::divide_up(a_.elements(), kThreads), kThreads, static_cast<cudaStream_t>(call.stream), "long_attention", a_);
  }
};
ATTN_BACKENDS(Mutant)
