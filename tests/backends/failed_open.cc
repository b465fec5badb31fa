// Fails in open.
// expect: suite=plain status=failed reason="open.*out of registers"
#include "good.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    throw std::runtime_error("out of registers");
  }
};
ATTN_BACKENDS(Mutant)
