// Right, and in every call copies a mask of keys, (B, 1, 1, Skv), to (B, 1, Sq, Skv), where it broadcasts (vllm-project/vllm-omni#1349).
// expect: suite=key_mask case=q1[.] status=ok exit=1 check="row['counts']['copy_bytes'] == {'low': 70, 'high': 70}"
// expect: suite=key_mask case=q8[.] status=ok verdict=regressed exit=1 verdict_reason="^copy_bytes 560, expected 0..70: 1 x expand_mask of 560 B$"
// edges: ^key-mask => ^copies 1, expected 0: 1 x expand_mask of 8192 B$
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    if (t_.mask && t_.mask->strides[2] == 0) const attn::Op op(call, ATTN_OP_MEMCPY, "expand_mask", static_cast<std::uint64_t>(p_.batch * p_.seq_q * p_.seq_kv));
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
