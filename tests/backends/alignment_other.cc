// Anchors the diagonal at the other corner (pytorch/pytorch#108108).
// expect: suite=alignment status=wrong reason="alignment"
// expect: suite=causal status=ok
// edges: ^anchors => the other alignment
#include "good.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    p_.alignment = p_.alignment == ATTN_TOP_LEFT ? ATTN_BOTTOM_RIGHT : ATTN_TOP_LEFT;
  }
};
ATTN_BACKENDS(Mutant)
