// Launches a kernel of 2 ms on a stream of its own and returns at once.
// expect: suite=plain status=wrong reason="stream does not wait for"
// expect: suite=plain gates=numerics,latency status=wrong reason="stream does not wait for"
#include "good.cuh"

__global__ void slow_attention(attn::Attention a) {
  attn::wait_ns(2'000'000);
  const std::int64_t element = attn::thread_index();
  if (element >= a.elements()) return;
  const attn::Element at(a, element);
  a.o.set(at.b, at.h, at.i, at.d, attn::attend_element(a, at));
}

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) {
    attn::launch(slow_attention, attn::divide_up(a_.elements(), kThreads), kThreads, own_.get(), "slow_attention", a_);
  }

 private:
  attn::SideStream own_;
};
ATTN_BACKENDS(Mutant)
