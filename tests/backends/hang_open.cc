// Never returns from open.
// expect: suite=plain status=timed_out seconds=12 reason="within 2 s in phase open"
#include "damage.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    attn::sleep_for_ever();
  }
};
ATTN_BACKENDS(Mutant)
