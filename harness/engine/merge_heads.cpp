#include "engine/merge_heads.hpp"

namespace attn {

TensorView MergeHeads::operator()(const TensorView& output, OpRecorder* recorder) {
  if (output.strides[1] == output.shape[3] * output.strides[3]) return output;
  const auto [batch, heads, seq, dim] = output.shape;
  const std::size_t bytes = static_cast<std::size_t>(batch * heads * seq * dim) * element_bytes(output.dtype);
  if (merged_.bytes() != bytes || !merged_.data()) merged_ = GuardedBuffer(device_, "the merged heads", bytes);
  if (recorder) recorder->begin(ATTN_OP_KERNEL, "harness_copy_merge_heads", 0);
  device_.copy_dense(output, merged_.data());
  if (recorder) recorder->end();
  TensorView merged = output;
  merged.data = merged_.data();
  merged.strides = {seq * heads * dim, dim, heads * dim, 1};
  return merged;
}

}  // namespace attn
