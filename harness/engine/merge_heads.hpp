#pragma once
// `then: merge_heads`: what a model does next with attention's output, (batch, heads, seq, dim) to (batch, seq, heads * dim), inside the counted region.

#include <optional>

#include "engine/op_recorder.hpp"
#include "engine/tensor_memory.hpp"

namespace attn {

class MergeHeads {
 public:
  MergeHeads(Device& device, const Case& value);
  // Bytes that the copy takes of the device; 0 when the case asks for none, or its o is merged as a view.
  static double bytes_needed(const Case& value);

  // A view where the output's strides allow one (each head's rows follow the last head's, or one of the two axes has a single element), as in PyTorch's reshape; else a copy, the kernel
  // "harness_copy_merge_heads". Returns the merged output, still indexed (batch, heads, seq, dim); a ragged one stays ragged, (tokens, heads * dim). The first
  // copy takes the memory.
  TensorView operator()(const TensorView& output, OpRecorder* recorder);

 private:
  Device& device_;
  std::int32_t dtype_;
  TensorLayout layout_;
  std::optional<TensorMemory> merged_;
};

}  // namespace attn
