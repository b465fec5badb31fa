// Declines in open, with a reason, as libraries that can only be asked there.
// expect: suite=plain status=unsupported reason="no plan for 6 keys"
#include "good.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    throw attn::Unsupported("no plan for " + std::to_string(problem.seq_kv) + " keys");
  }
};
ATTN_BACKENDS(Mutant)
