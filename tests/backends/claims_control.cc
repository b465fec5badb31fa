// Claims to be a control row, whose answer nobody checks, and writes nothing.
// expect: suite=plain status=unsupported reason="is a control backend"
#include "good.hpp"

struct Mutant : attn::Good {
  static constexpr attn::BackendInfo info{.name = "mutant", .can = kCan, .flags = ATTN_FLAG_REPORTS_OPS | ATTN_FLAG_CONTROL};
  using Good::Good;
  void run(const attn_call&) {}
};
ATTN_BACKENDS(Mutant)
