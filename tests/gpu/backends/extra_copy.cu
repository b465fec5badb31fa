// Copies its answer into the workspace, where nobody reads it.
// expect: suite=counted status=ok verdict=regressed exit=1 verdict_reason="copies 1, expected 0: 1 x .* of 384 B" check="row['counts']['copies'] == {'low': 1, 'high': 1} and row['counts']['copy_bytes'] == {'low': 384, 'high': 384}"
// expect: suite=plain status=ok
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem& p, const attn_device_facts&) {
    return {static_cast<std::uint64_t>(p.batch * p.heads * p.seq_q * p.head_dim_v) * sizeof(float)};
  }
  void run(const attn_call& call) {
    Good::run(call);
    const std::size_t bytes = static_cast<std::size_t>(a_.elements()) * sizeof(float);
    attn::check(cudaMemcpyAsync(call.workspace, a_.o.data, bytes, cudaMemcpyDeviceToDevice, attn::stream_of(call)), "cudaMemcpyAsync");
  }
};
ATTN_BACKENDS(Mutant)
