#pragma once
// Cases whose inputs are pinned: the host's and the device's must both have these hashes, on every machine and in every version.

#include <cstdint>
#include <vector>

#include "engine/inputs.hpp"

namespace attn {

struct PinnedInputs {
  Case value;
  std::uint64_t seed = 0, hash = 0;
};

inline std::vector<PinnedInputs> pinned_inputs() {
  Case plain;
  plain.batch = 2;
  plain.heads = 6;
  plain.heads_kv = 3;
  plain.seq_q = 37;
  plain.seq_kv = 41;
  plain.head_dim = 33;
  plain.head_dim_v = 16;
  plain.mask = MaskKind::tensor;
  plain.mask_tensor = {.pattern = MaskPattern::rows_dead, .full = {true, false, true, true}, .dtype = MaskDType::dtype};
  Case skewed = plain, poisoned = plain;
  plain.dtype = plain.dtype_kv = DType::fp32;
  skewed.dtype = skewed.dtype_kv = DType::fp16;
  skewed.inputs = Inputs::skewed;
  skewed.mask_tensor.fill = MaskFill::minimum;
  poisoned.dtype = poisoned.dtype_kv = DType::bf16;
  poisoned.inputs = Inputs::poison_padding;
  poisoned.lengths_q = {37, 5};
  poisoned.lengths_kv = {1, 40};
  poisoned.mask_tensor.dtype = MaskDType::boolean;
  return {{plain, 1, 0x13687846e5ae74d2u}, {skewed, 0x123456789abcdef0u, 0xb89b09ddfc49a92fu}, {poisoned, 3, 0x81e19e3f644c23afu}};
}

// FNV-1a (64 bit) over the bytes of dense tensors in host memory, one after the other.
inline std::uint64_t hash_inputs(const std::vector<TensorView>& tensors) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const TensorView& t : tensors) {
    const std::size_t count = static_cast<std::size_t>(t.shape[0] * t.shape[1] * t.shape[2] * t.shape[3]);
    const auto* const bytes = static_cast<const std::uint8_t*>(t.data);
    for (std::size_t i = 0; i < count * (t.dtype == kBoolByte ? 1 : element_bytes(t.dtype)); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  }
  return hash;
}

}  // namespace attn
