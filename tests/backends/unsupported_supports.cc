// Declines in supports, with a reason.
// expect: suite=plain status=unsupported reason="head_dim 8 is no multiple of 64"
// expect: suite=supported verdict=regressed status=unsupported exit=1
// list: mutant +unsupported +head_dim 8 is no multiple of 64
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem& problem, const attn_device_facts&) {
    throw attn::Unsupported("head_dim " + std::to_string(problem.head_dim) + " is no multiple of 64");
  }
};
ATTN_BACKENDS(Mutant)
