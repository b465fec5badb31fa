// Asks for a workspace of 2^60 bytes.
// expect: suite=plain status=unsupported reason="1152921504606846976|MiB of memory"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem&, const attn_device_facts&) { return {std::uint64_t{1} << 60}; }
};
ATTN_BACKENDS(Mutant)
