#pragma once
// Attention that answers in memory of its own, laid out (head_dim, seq, heads, batch) from the outermost to the innermost axis.

#include "good.hpp"

namespace attn {

class Owned : public Good {
 public:
  Owned(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const Options& options)
      : Good(problem, tensors, device, options),
        strides_{1, p_.batch, p_.batch * p_.heads, p_.batch * p_.heads * p_.seq_q},
        memory_(static_cast<std::size_t>(strides_[3] * p_.head_dim_v) * element_bytes(p_.dtype)) {
    o_.data = memory_.data();
    std::copy_n(strides_, 4, o_.strides);
  }
  void run(const attn_call& call) {
    Good::run(call);
    call.tensors->o->data = memory_.data();
    call.tensors->o->byte_offset = 0;
    std::copy_n(strides_, 4, call.tensors->o->strides);
  }

 protected:
  std::int64_t strides_[4];
  std::vector<char> memory_;
};

}  // namespace attn
