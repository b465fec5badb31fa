// Gives every batch entry the same memory by a stride of 0: the last one's answer stands for all.
// expect: suite=plain status=wrong reason="."
#include "owned.hpp"

struct Mutant : attn::Owned {
  static constexpr attn::BackendInfo info{.name = "mutant", .can = kCan, .flags = ATTN_FLAG_REPORTS_OPS | ATTN_FLAG_OWNS_OUTPUT};
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Owned(problem, tensors, device, options) {
    o_.strides[0] = strides_[0] = 0;
  }
};
ATTN_BACKENDS(Mutant)
