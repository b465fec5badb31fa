// Copies in every other call: calls that disagree are told as a range.
// expect: suite=counted status=ok verdict=regressed exit=1 verdict_reason="copies 0\.\.1, expected 0" check="row['counts']['copies'] == {'low': 0, 'high': 1}"
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem&, const attn_device_facts&) { return {64}; }
  void run(const attn_call& call) {
    if (calls_++ % 2) attn::check(cudaMemcpyAsync(call.workspace, a_.q.data, 64, cudaMemcpyDeviceToDevice, attn::stream_of(call)), "cudaMemcpyAsync");
    Good::run(call);
  }

 private:
  int calls_ = 0;
};
ATTN_BACKENDS(Mutant)
