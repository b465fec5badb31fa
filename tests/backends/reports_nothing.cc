// Does not report operations and does not say so: the counts are unknown, not zero, and the answer is still judged.
// expect: suite=plain status=ok check="row['counts']['kernels'] is None and row['verdict']['not_judged']"
#include "good.hpp"

struct Mutant : attn::Good {
  static constexpr attn::BackendInfo info{.name = "mutant", .can = kCan};
  using Good::Good;
};
ATTN_BACKENDS(Mutant)
