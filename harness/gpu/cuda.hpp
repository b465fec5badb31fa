#pragma once
// The CUDA runtime as the harness uses it: errors become attn::Error, resources have owners.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "base/error.hpp"
#include "base/handle.hpp"

namespace attn {

// A failed CUDA call. `sticky`: the context is lost (an illegal address, a failed assertion), and every further call of the process fails.
class CudaError : public Error {
 public:
  CudaError(cudaError_t code, const std::string& during);
  cudaError_t code() const { return code_; }
  bool sticky() const;

 private:
  cudaError_t code_;
};

// Throws CudaError ("cudaMalloc of 4096 bytes: out of memory (cudaErrorMemoryAllocation)") unless `code` is cudaSuccess.
void check_cuda(cudaError_t code, const std::string& during);

namespace detail {
inline void destroy_stream(cudaStream_t stream) { cudaStreamDestroy(stream); }
inline void destroy_event(cudaEvent_t event) { cudaEventDestroy(event); }
inline void free_device(void* memory) { cudaFree(memory); }
inline void free_host(void* memory) { cudaFreeHost(memory); }
}  // namespace detail

using Stream = Handle<cudaStream_t, detail::destroy_stream>;
using Event = Handle<cudaEvent_t, detail::destroy_event>;
using DeviceMemory = Handle<void*, detail::free_device>;
using PinnedMemory = Handle<void*, detail::free_host>;

Stream make_stream();               // non-blocking: does not wait for the legacy default stream
Event make_event();                 // with timing
DeviceMemory allocate_device(std::size_t bytes);

}  // namespace attn
