#include "gpu/cuda.hpp"

#include <fmt/format.h>

namespace attn {

CudaError::CudaError(cudaError_t code, const std::string& during)
    : Error(fmt::format("{}: {} ({})", during, cudaGetErrorString(code), cudaGetErrorName(code)), Fault::internal), code_(code) {}

bool CudaError::sticky() const {
  switch (code_) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
    case cudaErrorCudartUnloading:
#if CUDART_VERSION >= 12080
    case cudaErrorTensorMemoryLeak:
    case cudaErrorContained:
#endif
      return true;
    default:
      return false;
  }
}

void check_cuda(cudaError_t code, const std::string& during) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // otherwise the next, innocent call would report it again
  throw CudaError(code, during);
}

Stream make_stream() {
  Stream stream;
  check_cuda(cudaStreamCreateWithFlags(stream.out(), cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return stream;
}

Event make_event() {
  Event event;
  check_cuda(cudaEventCreate(event.out()), "cudaEventCreate");
  return event;
}

DeviceMemory allocate_device(std::size_t bytes) {
  DeviceMemory memory;
  // A null pointer means "no memory" to everyone who asks, so that nothing is asked for as one byte.
  check_cuda(cudaMalloc(memory.out(), bytes ? bytes : 1), fmt::format("cudaMalloc of {} bytes", bytes));
  return memory;
}

}  // namespace attn
