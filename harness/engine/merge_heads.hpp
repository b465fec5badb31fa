#pragma once
// `then: merge_heads`: what a model does next with attention's output, (batch, heads, seq, dim) to (batch, seq, heads * dim), inside the counted region.

#include <cstdint>
#include <vector>

#include "engine/guarded_buffer.hpp"
#include "engine/op_recorder.hpp"
#include "engine/tensor_view.hpp"

namespace attn {

class MergeHeads {
 public:
  explicit MergeHeads(Device& device) : device_(device) {}
  // A view where the output's strides allow one (each head's rows follow the last head's), as in PyTorch's reshape; else a copy, the kernel
  // "harness_copy_merge_heads". Returns the merged output, still indexed (batch, heads, seq, dim); a ragged one stays ragged, (tokens, heads * dim). The first
  // call takes the memory.
  TensorView operator()(const TensorView& output, OpRecorder* recorder);

 private:
  void make_rows(const TensorView& output);
  Device& device_;
  GuardedBuffer merged_, row_table_;
  std::vector<std::int64_t> rows_;
};

}  // namespace attn
