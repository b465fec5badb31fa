// Closes every descriptor but the standard ones in open, as a daemon does.
// expect: suite=plain status=crashed reason="exit code 1" output="cannot write records"
#include <unistd.h>

#include "good.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    for (int descriptor = 3; descriptor < 1024; ++descriptor) close(descriptor);
  }
};
ATTN_BACKENDS(Mutant)
