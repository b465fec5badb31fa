// Is given an option that it does not know: a setting that nobody reads may not be ignored.
// expect: suite=options status=failed reason="option `tile` is unknown"
#include "good.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    options.allow({"threads"});
  }
};
ATTN_BACKENDS(Mutant)
