// Drops the same weights whatever the seed.
// edges: ^dropout => another dropout seed gives the same output
// expect: suite=dropout status=wrong reason="^another dropout seed gives the same output$"
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  std::uint64_t dropout_seed() const override { return 42; }
};
ATTN_BACKENDS(Mutant)
