// One file, two backends: the one that dies does not take the other with it.
// expect: suite=family backend=mutant status=crashed reason="SIGSEGV"
// expect: suite=family backend=twin status=ok exit=1
#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { attn::segfault(); }
};
struct Twin : attn::Good {
  static constexpr attn::BackendInfo info{.name = "twin", .can = kCan, .flags = ATTN_FLAG_REPORTS_OPS};
  using Good::Good;
};
ATTN_BACKENDS(Mutant, Twin)
