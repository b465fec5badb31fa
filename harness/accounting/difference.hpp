#pragma once
// What changed between two multisets of operations, in words.

#include <string>
#include <vector>

#include "core/measurement.hpp"

namespace attn {

// One change, worded: "+1 memcpy DtoD of 268435456 B after nvjet_tst_128x256", "+1 memcpy cpu_memcpy_scores of 268435456 B after cpu_scale", "-1 kernel cpu_cast_q", "softmax_warp_forward -> cunn_SoftMaxForward",
// "memcpy 1024 B -> 2048 B".
struct Change {
  enum class What { added, removed, replaced };
  What what = What::added;
  ActivityKind kind = ActivityKind::kernel;
  ActivityClass activity_class = ActivityClass::other;
  std::string text;
};

// Added first, then removed, then replaced; within each in the order of the call.
std::vector<Change> difference(const std::vector<KernelRow>& before, const std::vector<KernelRow>& now);

// Operations that both have and that take at least `least_ratio` times as long now, the greatest loss of time first:
// "cpu_softmax 2.1x slower (1.2 ms -> 2.5 ms)".
std::vector<std::string> slower_operations(const std::vector<KernelRow>& before, const std::vector<KernelRow>& now, double least_ratio);

}  // namespace attn
