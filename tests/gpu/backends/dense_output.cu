// Answers in dense memory of its own, (batch, heads, seq, head_dim), whatever q's order is: merging the heads afterwards needs a copy (CASES R09).
// expect: suite=merge_heads status=ok verdict=regressed exit=1 verdict_reason="copies 1, expected 0: .*harness_copy_merge_heads"
#include "owned.cuh"

struct Mutant : attn::Owned {
  static constexpr attn::BackendInfo info = kOwner;
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Owned(problem, tensors, device, options,
              {problem.heads * problem.seq_q * problem.head_dim_v, problem.seq_q * problem.head_dim_v, problem.head_dim_v, 1}) {}
};
ATTN_BACKENDS(Mutant)
