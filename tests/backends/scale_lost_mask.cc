// The kernel for mask tensors takes 1/sqrt(head_dim), whatever scale is asked for.
// expect: suite=plain status=ok
// expect: suite=scale status=ok
// edges: ^mask-scale => scale ignored
#include "good.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    if (t_.mask) p_.scale = 1 / std::sqrt(static_cast<double>(p_.head_dim));
  }
};
ATTN_BACKENDS(Mutant)
