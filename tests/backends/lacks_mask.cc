// Knows no mask tensors and would ignore one: the host refuses before it is asked (pytorch/pytorch#97514).
// expect: suite=mask status=unsupported reason="mask"
// expect: suite=plain status=ok
// list: mutant +ok
#include "good.hpp"

struct Mutant : attn::Good {
  static constexpr attn::BackendInfo info{.name = "mutant", .can = kCan & ~(ATTN_CAN_MASK_BOOL | ATTN_CAN_MASK_ADDITIVE), .flags = ATTN_FLAG_REPORTS_OPS};
  using Good::Good;
  void run(const attn_call& call) {
    t_.mask = nullptr;
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
