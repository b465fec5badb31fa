#include "engine/merge_heads.hpp"

#include <cstring>

namespace attn {

TensorView copy_dense(const TensorView& source, GuardedBuffer& into) {
  const auto [batch, heads, seq, dim] = source.shape;
  const std::size_t size = element_bytes(source.dtype), total = static_cast<std::size_t>(batch * heads * seq * dim) * size;
  if (into.bytes() != total || !into.data()) into = GuardedBuffer("a copy of o", total);
  TensorView copy = source;
  copy.data = into.data();
  copy.strides = {seq * heads * dim, dim, heads * dim, 1};
  const auto* const from = static_cast<const std::byte*>(source.data);
  auto* const to = static_cast<std::byte*>(copy.data);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t s = 0; s < seq; ++s)
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::byte* row = from + static_cast<std::size_t>(source.offset(b, h, s, 0)) * size;
        std::byte* target = to + static_cast<std::size_t>(copy.offset(b, h, s, 0)) * size;
        if (source.strides[3] == 1) std::memcpy(target, row, static_cast<std::size_t>(dim) * size);
        else
          for (std::int64_t d = 0; d < dim; ++d)
            std::memcpy(target + static_cast<std::size_t>(d) * size, row + static_cast<std::size_t>(d * source.strides[3]) * size, size);
      }
  return copy;
}

TensorView MergeHeads::operator()(const TensorView& output, OpRecorder* recorder) {
  if (output.strides[1] == output.shape[3] * output.strides[3]) return output;
  if (recorder) recorder->begin(ATTN_OP_KERNEL, "harness_copy_merge_heads", 0);
  const TensorView merged = copy_dense(output, merged_);
  if (recorder) recorder->end();
  return merged;
}

}  // namespace attn
