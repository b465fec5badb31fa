// The kernel for pages knows no softcap.
// expect: suite=plain status=ok
// expect: suite=softcap status=ok
// edges: ^pages-softcap => softcap ignored
#include "good.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    if (t_.page_table) p_.softcap = 0;
  }
};
ATTN_BACKENDS(Mutant)
