#include "engine/merge_heads.hpp"

#include <algorithm>

namespace attn {

TensorView MergeHeads::operator()(const TensorView& output, OpRecorder* recorder) {
  if (output.strides[1] == output.shape[3] * output.strides[3]) return output;
  // Ragged rows are tokens that follow each other: one sequence of them all.
  TensorView source = output;
  if (output.rows) {
    const std::int64_t tokens = std::count_if(output.rows.host, output.rows.host + output.shape[0] * output.shape[2], [](std::int64_t row) { return row >= 0; });
    source.shape = {1, output.shape[1], tokens, output.shape[3]};
    source.rows = {};
  }
  const auto [batch, heads, seq, dim] = source.shape;
  const std::size_t bytes = static_cast<std::size_t>(batch * heads * seq * dim) * element_bytes(output.dtype);
  if (merged_.bytes() != bytes || !merged_.data()) {
    merged_ = GuardedBuffer(device_, "the merged heads", bytes);
    make_rows(output);
  }
  if (recorder) recorder->begin(ATTN_OP_KERNEL, "harness_copy_merge_heads", 0);
  device_.copy_dense(source, merged_.data());
  if (recorder) recorder->end();
  TensorView merged = output;
  merged.data = merged_.data();
  merged.strides = {seq * heads * dim, dim, heads * dim, 1};
  if (output.rows) merged.rows = {rows_.data(), reinterpret_cast<const std::int64_t*>(row_table_.data())};
  return merged;
}

// Where the merged tokens of a ragged output begin.
void MergeHeads::make_rows(const TensorView& output) {
  if (!output.rows) return;
  rows_.assign(output.rows.host, output.rows.host + output.shape[0] * output.shape[2]);
  std::int64_t token = 0;
  for (std::int64_t& row : rows_)
    if (row >= 0) row = token++ * output.shape[1] * output.shape[3];
  row_table_ = GuardedBuffer(device_, "the rows of the merged heads", rows_.size() * sizeof(std::int64_t));
  device_.write(row_table_.data(), rows_.data(), rows_.size() * sizeof(std::int64_t));
}

}  // namespace attn
