// Reports operations, and a version, whose names are an attack on whatever shows them. Counts as usual.
// expect: suite=plain status=ok check="row['counts']['kernels'] == {'low': 2, 'high': 2}"
// list: FORGED
#include "good.hpp"

struct Mutant : attn::Good {
  static constexpr attn::BackendInfo info{
      .name = "mutant", .can = kCan, .flags = ATTN_FLAG_REPORTS_OPS, .version = "\x1b[31mFORGED\n::error::FORGED <script>"};
  using Good::Good;
  void run(const attn_call& call) {
    { const attn::Op op(call, ATTN_OP_KERNEL, "\x1b[31mFORGED\n::error::FORGED <script>alert(1)</script> ]]> \xff | `"); }
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
