#pragma once
// Inputs and reference of a case in a GPU's memory, by kernels: the same bits as fill_inputs and fill_mask, the same mathematics as reference and naive.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/inputs.hpp"
#include "engine/reference.hpp"

namespace attn {

// As fill_inputs and fill_mask, for views of device memory; fp32, fp16, bf16. Bit-equal to them. Asynchronous. Throws Error for a dtype or strides they cannot do.
void gpu_fill_inputs(const Case& value, std::uint64_t seed, const TensorView& q, const TensorView& k, const TensorView& v, cudaStream_t stream);
void gpu_fill_mask(const Case& value, std::uint64_t seed, const TensorView& mask, cudaStream_t stream);

// As copy_dense, from device memory to device memory: (batch, heads, seq, dim) in any strides to a dense (batch, seq, heads, dim) at `to`, bits kept.
// The kernel is named harness_copy_merge_heads. Asynchronous.
void gpu_copy_dense(const TensorView& source, void* to, cudaStream_t stream);

// Rows in double precision, and as a naive implementation would compute them. Operands are views of device memory. Each call waits for the stream.
class GpuReference final : public Reference {
 public:
  GpuReference(const Operands& operands, cudaStream_t stream) : operands_(operands), stream_(stream) {}
  Evaluation exact(const Reading& reading, std::span<const OutputRow> rows) const override;
  Evaluation naive(const Reading& reading, std::span<const OutputRow> rows) const override;

 private:
  Operands operands_;
  cudaStream_t stream_;
};

}  // namespace attn
