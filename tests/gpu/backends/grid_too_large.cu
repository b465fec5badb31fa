// Puts batch and heads into the grid's y axis, which ends at 65535 blocks, and looks at no error: beyond that nothing runs (CASES R31).
// expect: suite=many case=b65535 status=ok exit=1
// expect: suite=many case=b65536 status=wrong|failed reason="a launch inside the call failed|never written"
#include "good.cuh"

__global__ void attention_in_y(attn::Attention a) {
  const std::int64_t row = a.seq_q * a.head_dim_v, within = attn::thread_index();
  if (within >= row) return;
  const attn::Element at(a, blockIdx.y * row + within);
  a.o.set(at.b, at.h, at.i, at.d, attn::attend_element(a, at));
}

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    const dim3 grid(static_cast<unsigned>(attn::divide_up(a_.seq_q * a_.head_dim_v, kThreads)), static_cast<unsigned>(a_.batch * a_.heads));
    attention_in_y<<<grid, kThreads, 0, attn::stream_of(call)>>>(a_);
  }
};
ATTN_BACKENDS(Mutant)
