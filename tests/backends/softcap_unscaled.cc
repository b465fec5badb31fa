// Caps the scores before they are scaled.
// expect: suite=softcap status=wrong reason="."
// edges: ^softcap => softcap before the scale
#include "good.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    p_.softcap *= p_.scale;  // scale * cap * tanh(s / cap) = (scale * cap) * tanh(scale * s / (scale * cap))
  }
};
ATTN_BACKENDS(Mutant)
