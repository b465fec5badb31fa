// Points o at memory of its own without ATTN_FLAG_OWNS_OUTPUT, so what the harness gave was never written.
// expect: suite=plain status=wrong|failed reason="never written|OWNS_OUTPUT"
#include "owned.hpp"

struct Mutant : attn::Owned {
  using Owned::Owned;
};
ATTN_BACKENDS(Mutant)
