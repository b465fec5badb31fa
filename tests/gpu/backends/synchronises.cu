// Waits for its stream inside the call. Counted; no graph can hold it; and the harness, which holds the stream while a call is enqueued, must not wait for ever.
// expect: suite=not_capturable status=ok check="row['counts']['synchronisations'] == {'low': 1, 'high': 1} and row['counts']['kernels'] == {'low': 1, 'high': 1}"
// expect: suite=not_capturable gates=numerics,latency status=ok check="0 < times['span_ns'] < 50e6 and times['host_ns'] < 50e6"
// expect: suite=counted status=ok verdict=regressed exit=1 verdict_reason="synchronisations 1, expected 0"
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    attn::check(cudaStreamSynchronize(attn::stream_of(call)), "cudaStreamSynchronize");
  }
};
ATTN_BACKENDS(Mutant)
