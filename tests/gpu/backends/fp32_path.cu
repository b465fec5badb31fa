// Has a fused kernel for bf16 and falls back to three kernels for fp32 without a word: the same numbers, another path (CASES R01).
// expect: suite=path case=fp32 status=ok verdict=regressed exit=1 verdict_reason="kernel_path (naive|math|unknown), expected fused" check="row['counts']['kernels']['low'] == 3"
// expect: suite=path case=bf16 status=ok exit=1 check="row['counts']['kernels']['low'] == 1 and row['kernel_path'] == 'flash2'"
#include "good.cuh"

// Scores (B, H, Sq, Skv) in the workspace, one thread for each.
__global__ void gemm_qk(attn::Attention a, double* scores) {
  const std::int64_t index = attn::thread_index(), j = index % a.seq_kv, row = index / a.seq_kv;
  if (row >= a.batch * a.heads * a.seq_q) return;
  const attn::Element at(a, row * a.head_dim_v);
  double score = 0;
  for (std::int64_t x = 0; x < a.head_dim; ++x) score += a.q.get(at.b, at.h, at.i, x) * a.k.get(at.b, at.h_kv, j, x);
  scores[index] = score * a.scale;
}
// One thread a row.
__global__ void softmax_rows(double* scores, std::int64_t rows, std::int64_t keys) {
  const std::int64_t row = attn::thread_index();
  if (row >= rows) return;
  double* const at = scores + row * keys;
  double most = at[0], sum = 0;
  for (std::int64_t j = 1; j < keys; ++j) most = fmax(most, at[j]);
  for (std::int64_t j = 0; j < keys; ++j) sum += at[j] = exp(at[j] - most);
  for (std::int64_t j = 0; j < keys; ++j) at[j] /= sum;
}
__global__ void gemm_pv(attn::Attention a, const double* weights) {
  const std::int64_t index = attn::thread_index();
  if (index >= a.elements()) return;
  const attn::Element at(a, index);
  double value = 0;
  for (std::int64_t j = 0; j < a.seq_kv; ++j) value += weights[index / a.head_dim_v * a.seq_kv + j] * a.v.get(at.b, at.h_kv, j, at.d);
  a.o.set(at.b, at.h, at.i, at.d, value);
}
__global__ void flash_fwd_kernel(attn::Attention a) {
  const std::int64_t index = attn::thread_index();
  if (index >= a.elements()) return;
  const attn::Element at(a, index);
  a.o.set(at.b, at.h, at.i, at.d, attn::attend_element(a, at));
}

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem& p, const attn_device_facts&) {
    return {p.dtype == ATTN_FP32 ? static_cast<std::uint64_t>(p.batch * p.heads * p.seq_q * p.seq_kv) * sizeof(double) : 0};
  }
  void run(const attn_call& call) {
    const cudaStream_t stream = attn::stream_of(call);
    const std::int64_t rows = a_.batch * a_.heads * a_.seq_q, blocks = attn::divide_up(a_.elements(), kThreads);
    if (a_.o.dtype != ATTN_FP32) return attn::launch(flash_fwd_kernel, blocks, kThreads, stream, "flash_fwd_kernel", a_);
    auto* const scores = static_cast<double*>(call.workspace);
    attn::launch(gemm_qk, attn::divide_up(rows * a_.seq_kv, kThreads), kThreads, stream, "gemm_qk", a_, scores);
    attn::launch(softmax_rows, attn::divide_up(rows, kThreads), kThreads, stream, "softmax_rows", scores, rows, a_.seq_kv);
    attn::launch(gemm_pv, blocks, kThreads, stream, "gemm_pv", a_, static_cast<const double*>(scores));
  }
};
ATTN_BACKENDS(Mutant)
