#pragma once
// Attention that answers in device memory of its own.

#include <algorithm>
#include <array>

#include "good.cuh"

namespace attn {

class Owned : public Good {
 public:
  // `strides` of the output; they leave no gaps.
  Owned(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const Options& options,
        const std::array<std::int64_t, 4>& strides)
      : Good(problem, tensors, device, options), memory_(static_cast<std::size_t>(a_.elements()) * sizeof(float)) {
    a_.o.data = static_cast<char*>(memory_.data());
    std::copy_n(strides.begin(), 4, a_.o.strides);
  }
  void run(const attn_call& call) {
    Good::run(call);
    call.tensors->o->data = memory_.data();
    call.tensors->o->byte_offset = 0;
    std::copy_n(a_.o.strides, 4, call.tensors->o->strides);
  }

 protected:
  static constexpr std::uint64_t kOwnerCan = kCan & ~(ATTN_CAN_FP16 | ATTN_CAN_BF16);  // its memory is counted in floats
  static constexpr BackendInfo kOwner{.name = "mutant", .can = kOwnerCan, .flags = ATTN_FLAG_OWNS_OUTPUT, .device_type = ATTN_DEVICE_CUDA};

 private:
  DeviceArray memory_;
};

}  // namespace attn
