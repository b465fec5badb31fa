// The backward pass draws its dropout from a seed, or an offset, that is not the forward pass's: each pass alone is unbiased.
// edges: ^dropout => the backward pass drops other weights than the forward pass
// expect: suite=dropout case=^(both|alone) status=wrong reason="^the backward pass drops other weights than the forward pass; sum\(dout . o\) and sum\(dv . v\) of "
// expect: suite=dropout case=^forward status=ok exit=1
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  std::uint64_t dropout_seed() const override { return p_.dropout_seed + (goes_back_ ? 1 : 0); }
};
ATTN_BACKENDS(Mutant)
