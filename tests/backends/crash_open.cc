// Writes to address 8 in open.
// expect: suite=plain status=crashed reason="SIGSEGV.*in phase open"
#include "damage.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    attn::segfault();
  }
};
ATTN_BACKENDS(Mutant)
