// Dropout is dropped beside a window.
// expect: suite=dropout status=ok
// edges: ^dropout-(window|all) => dropout ignored
#include "trained.hpp"

struct Mutant : attn::Trained {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Trained(problem, tensors, device, options) {
    if (p_.window_left >= 0 || p_.window_right >= 0) p_.dropout = 0;
  }
};
ATTN_BACKENDS(Mutant)
