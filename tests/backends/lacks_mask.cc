// Knows no mask tensors and would ignore one: the host refuses before it is asked (pytorch/pytorch#97514).
// expect: suite=mask status=unsupported reason="mask \\(its masks are of another kind\\)"
// expect: suite=plain status=ok
// list: mutant +ok
#include "good.hpp"

struct Mutant : attn::Good {
  static constexpr std::uint64_t kMasks = ATTN_CAN_MASK_BOOL | ATTN_CAN_MASK_ADDITIVE;
  static constexpr attn::BackendInfo info{
      .name = "mutant", .can = kCan & ~kMasks, .flags = ATTN_FLAG_REPORTS_OPS, .why_not = {kMasks, "its masks are of another kind"}};
  using Good::Good;
  void run(const attn_call& call) {
    t_.mask = nullptr;
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
