// Closes stdin, stdout and stderr, answers right, and so loses its words alone.
// expect: suite=plain status=ok
#include <unistd.h>

#include "good.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    for (int descriptor = 0; descriptor < 3; ++descriptor) close(descriptor);
  }
};
ATTN_BACKENDS(Mutant)
