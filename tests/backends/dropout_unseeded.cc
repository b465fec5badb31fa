// Every call draws its own dropout, whatever the seed says.
// edges: ^dropout => the same seed gives another output
// expect: suite=dropout case=^alone status=wrong reason="^the backward pass drops other weights than the forward pass"
// expect: suite=dropout case=^(forward|both) status=wrong reason="^the same seed gives another output: o differs in"
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  std::uint64_t dropout_seed() const override { return static_cast<std::uint64_t>(calls_); }
};
ATTN_BACKENDS(Mutant)
