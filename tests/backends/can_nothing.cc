// Claims no ability at all, so it may be asked nothing.
// expect: suite=plain status=unsupported reason="fp32"
#include "good.hpp"

struct Mutant : attn::Good {
  static constexpr attn::BackendInfo info{.name = "mutant", .can = 0, .flags = ATTN_FLAG_REPORTS_OPS};
  using Good::Good;
};
ATTN_BACKENDS(Mutant)
