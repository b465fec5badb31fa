// Asks for a workspace of 2^64 - 1 bytes, which wraps as soon as anything is added.
// expect: suite=plain status=unsupported reason="18446744073709551615|MiB of memory"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem&, const attn_device_facts&) { return {~std::uint64_t{0}}; }
};
ATTN_BACKENDS(Mutant)
