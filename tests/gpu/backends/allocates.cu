// Takes 1 MiB from the stream's pool inside the call and gives it back there: no growth, but it is the call's memory.
// expect: suite=plain status=ok check="row['counts']['allocations'] == {'low': 1, 'high': 1} and row['memory']['peak_bytes'] >= 1 << 20 and row['memory']['growth_bytes'] == 0"
// expect: suite=counted status=ok verdict=regressed exit=1 verdict_reason="allocations 1, expected 0"
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    void* memory = nullptr;
    attn::check(cudaMallocAsync(&memory, 1 << 20, attn::stream_of(call)), "cudaMallocAsync");
    Good::run(call);
    attn::check(cudaFreeAsync(memory, attn::stream_of(call)), "cudaFreeAsync");
  }
};
ATTN_BACKENDS(Mutant)
