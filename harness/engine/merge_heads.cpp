#include "engine/merge_heads.hpp"

namespace attn {
namespace {

TensorLayout merged_layout(Case c) {
  if (c.layout != Layout::thd) c.layout = Layout::bshd;
  return query_layout(c, c.head_dim_v, StrideKind::dense);
}

// An axis of one element lies anywhere, whatever its stride.
bool is_merged(const std::array<std::int64_t, 4>& strides, std::int64_t heads, std::int64_t dim) {
  return heads == 1 || dim == 1 || strides[1] == dim * strides[3];
}

}  // namespace

MergeHeads::MergeHeads(Device& device, const Case& value) : device_(device), dtype_(static_cast<std::int32_t>(value.dtype)), layout_(merged_layout(value)) {}

double MergeHeads::bytes_needed(const Case& c) {
  if (c.then != Then::merge_heads || is_merged(query_layout(c, c.head_dim_v, c.strides.o).strides, c.heads, c.head_dim_v)) return 0;
  return TensorMemory::bytes_needed(static_cast<std::int32_t>(c.dtype), merged_layout(c));
}

TensorView MergeHeads::operator()(const TensorView& output, OpRecorder* recorder) {
  if (is_merged(output.strides, output.shape[1], output.shape[3])) return output;
  if (!merged_) merged_.emplace(device_, "the merged heads", dtype_, layout_);
  // Ragged rows are tokens that follow each other: one sequence of them all.
  TensorView source = output;
  if (output.rows) {
    source.shape = {1, output.shape[1], layout_.abi_shape[0], output.shape[3]};
    source.rows = {};
  }
  if (recorder) recorder->begin(ATTN_OP_KERNEL, "harness_copy_merge_heads", 0);
  device_.copy_dense(source, merged_->data());
  if (recorder) recorder->end();
  return merged_->view();
}

}  // namespace attn
