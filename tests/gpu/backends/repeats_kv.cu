// Repeats k and v to as many heads as q has, in two kernels that copy, before it attends (CASES R11).
// expect: suite=grouped status=ok verdict=regressed exit=1 verdict_reason="copies 2, expected 0: 2 x .*repeat_interleave_kernel" check="row['memory']['workspace_bytes'] == 2 * 8 * 64 * 32 * 4"
#include "good.cuh"

__global__ void repeat_interleave_kernel(attn::View from, float* to, std::int64_t repeats, std::int64_t heads, std::int64_t keys, std::int64_t dim) {
  const std::int64_t at = attn::thread_index(), d = at % dim, j = at / dim % keys, h = at / dim / keys;
  if (h < heads) to[at] = static_cast<float>(from.get(0, h / repeats, j, d));  // of one batch
}

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem& p, const attn_device_facts&) {
    if (p.batch != 1) throw attn::Unsupported("this test knows one batch");
    return {static_cast<std::uint64_t>(2 * p.heads * p.seq_kv * p.head_dim) * sizeof(float)};
  }
  void run(const attn_call& call) {
    const std::int64_t elements = a_.heads * a_.seq_kv * a_.head_dim;
    attn::Attention repeated = a_;
    repeated.heads_kv = a_.heads;
    auto* to = static_cast<float*>(call.workspace);
    for (attn::View* each : {&repeated.k, &repeated.v}) {
      attn::launch(repeat_interleave_kernel, attn::divide_up(elements, kThreads), kThreads, attn::stream_of(call), "repeat_interleave_kernel", *each, to,
                   a_.heads / a_.heads_kv, a_.heads, a_.seq_kv, a_.head_dim);
      each->data = reinterpret_cast<char*>(to);
      each->strides[0] = elements;
      each->strides[1] = a_.seq_kv * a_.head_dim;
      each->strides[2] = a_.head_dim;
      each->strides[3] = 1;
      to += elements;
    }
    attn::launch(attn::good_attention, attn::divide_up(a_.elements(), kThreads), kThreads, attn::stream_of(call), "good_attention", repeated, std::int64_t{0},
                 a_.elements());
  }
};
ATTN_BACKENDS(Mutant)
