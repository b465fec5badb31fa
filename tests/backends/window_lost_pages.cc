// The kernel for pages knows no window.
// expect: suite=plain status=ok
// expect: suite=window status=ok
// edges: ^pages-window => the window ignored
#include "good.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    if (t_.page_table) p_.window_left = p_.window_right = -1;
  }
};
ATTN_BACKENDS(Mutant)
