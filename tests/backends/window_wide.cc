// Counts a window's tokens without the own one and so sees one key too many (huggingface/transformers#39408).
// expect: suite=window status=wrong reason="one key too wide"
// expect: suite=causal status=ok
// edges: ^window => one key too wide
#include "good.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    if (p_.window_left >= 0) ++p_.window_left;
  }
};
ATTN_BACKENDS(Mutant)
