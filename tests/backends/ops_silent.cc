// Says that it reports its operations and reports none: zero kernels is a fault by itself.
// expect: suite=plain status=ok|cannot_measure verdict=regressed|cannot_measure exit=1|5 reason="kernel|operation"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { attend(); }
};
ATTN_BACKENDS(Mutant)
