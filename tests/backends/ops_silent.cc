// Says that it reports its operations and reports none: zero kernels is a fault by itself.
// expect: suite=plain status=ok verdict=regressed exit=1 verdict_reason="kernel_path none"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { attend(); }
};
ATTN_BACKENDS(Mutant)
