#pragma once
// Inputs and reference of a case in a GPU's memory, by kernels: the same bits as fill_inputs and fill_mask, the same mathematics as reference and naive.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/inputs.hpp"
#include "engine/reference.hpp"
#include "gpu/cuda.hpp"

namespace attn {

// As fill_inputs and fill_mask, for views of device memory, in every attn_dtype. Bit-equal to them. Asynchronous. Throws Error for overlapping strides, which
// only the host fills in a fixed order.
void gpu_fill_inputs(const Case& value, std::uint64_t seed, const TensorView& q, const TensorView& k, const TensorView& v, cudaStream_t stream);
void gpu_fill_mask(const Case& value, std::uint64_t seed, const TensorView& mask, cudaStream_t stream);

void gpu_fill_gradient(const Case& value, std::uint64_t seed, const TensorView& dout, cudaStream_t stream);

// As copy_dense, from device memory to device memory: (batch, heads, seq, dim) in any strides or rows to a dense (batch, seq, heads, dim) at `to`, bits kept.
// The kernel is named harness_copy_merge_heads. Asynchronous.
void gpu_copy_dense(const TensorView& source, void* to, cudaStream_t stream);

// Rows in double precision, and as a naive implementation would compute them (its sums in another order than the host's). Operands are views of device
// memory. Each call waits for the stream. Device memory is kept from call to call; throws CudaError with the bytes needed when there is not enough.
class GpuReference final : public Reference {
 public:
  GpuReference(const Operands& operands, cudaStream_t stream) : operands_(operands), stream_(stream) {}
  Evaluation exact(const Reading& reading, std::span<const OutputRow> rows) const override;
  Evaluation naive(const Reading& reading, std::span<const OutputRow> rows) const override;

 private:
  template <class Steps>
  Evaluation evaluate(const Reading& reading, std::span<const OutputRow> rows) const;
  std::byte* scratch(std::size_t bytes, std::size_t rows) const;

  Operands operands_;
  cudaStream_t stream_;
  mutable DeviceMemory scratch_;
  mutable std::size_t scratch_bytes_ = 0;
};

}  // namespace attn
