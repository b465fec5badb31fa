// Right, but 16-bit inputs are widened and multiplied in fp32, off the tensor cores (PyTorch's math path does so).
// expect: suite=classes status=ok verdict=regressed exit=1 verdict_reason="^1 x cpu_sgemm_qk is gemm[.]fp32_simt, 1 x cpu_sgemm_pv is gemm[.]fp32_simt, expected no gemm[.]fp32_simt$" check="[k['gemm_kind'] for k in row['kernels']] == [None, 'fp32_simt', None, 'fp32_simt']"
// expect: suite=classes status=ok verdict=regressed exit=1 check="[f['message'] for f in row['verdict']['findings']][1:] == ['1 x cpu_cast_qkv is cast, expected no cast']"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    { const attn::Op op(call, ATTN_OP_KERNEL, "cpu_cast_qkv"); }
    { const attn::Op op(call, ATTN_OP_KERNEL, "cpu_sgemm_qk"); }
    { const attn::Op op(call, ATTN_OP_KERNEL, "cpu_softmax"); }
    const attn::Op op(call, ATTN_OP_KERNEL, "cpu_sgemm_pv");
    attend();
  }
};
ATTN_BACKENDS(Mutant)
