// Answers in memory of its own in q's order of strides: merging the heads afterwards is a view. The right twin of dense_output.
// expect: suite=merge_heads status=ok check="row['counts']['copies'] == {'low': 0, 'high': 0}"
#include "owned.cuh"

struct Mutant : attn::Owned {
  static constexpr attn::BackendInfo info = kOwner;
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Owned(problem, tensors, device, options, {tensors.q->strides[0], tensors.q->strides[1], tensors.q->strides[2], tensors.q->strides[3]}) {}
};
ATTN_BACKENDS(Mutant)
