// Fused as long as no gradient is wanted (pytorch/pytorch#100326): the same call takes another path when one is.
// expect: suite=passes case="^forward:" status=ok exit=1 check="row['kernel_path'] == 'flash2'"
// expect: suite=passes case="^(backward|both):" status=ok verdict=regressed exit=1 verdict_reason="kernel_path naive, expected fused" check="row['kernel_path'] == 'naive'"
// expect: suite=passes how=baseline case="^(backward|both):" status=ok verdict=regressed exit=1 verdict_reason="kernel.path.*flash2.*naive|expected fused"
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  void run(const attn_call& call) {
    if (p_.pass == ATTN_FORWARD) return Trained::run(call);
    for (const char* name : {"cpu_gemm_qk", "cpu_softmax"}) const attn::Op op(call, ATTN_OP_KERNEL, name);
    const attn::Op op(call, ATTN_OP_KERNEL, "cpu_gemm_pv");
    attn_call unheard = call;
    unheard.ops = nullptr;
    Trained::run(unheard);
  }
};
ATTN_BACKENDS(Mutant)
