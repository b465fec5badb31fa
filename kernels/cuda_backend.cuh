#pragma once
// What every CUDA backend of this folder needs: checked calls, device memory with an owner, launches over one grid axis, and the three number formats.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <climits>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "abi/attn_kernel.hpp"

namespace attn {

inline void check(cudaError_t code, const char* during) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // an error that is reported here must not turn up again at the next launch
  throw std::runtime_error(std::string(during) + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")");
}

// The plugin's own runtime learns here which device the harness means, and whether this file was built for it. Throws Unsupported.
template <class Kernel>
void use_device(const attn_device_facts& device, Kernel* any_kernel) {
  check(cudaSetDevice(device.device_id), "cudaSetDevice");
  cudaFuncAttributes attributes;
  const cudaError_t code = cudaFuncGetAttributes(&attributes, any_kernel);
  if (code == cudaErrorNoKernelImageForDevice || code == cudaErrorUnsupportedPtxVersion || code == cudaErrorInvalidDeviceFunction) {
    cudaGetLastError();
    throw Unsupported("built for CUDA architectures " ATTN_ARCHITECTURES ", this device is " + std::to_string(device.sm_major) + "." +
                      std::to_string(device.sm_minor) + ": " + cudaGetErrorString(code));
  }
  check(code, "cudaFuncGetAttributes");
}

// Device memory of a backend's own, taken in open.
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t bytes) { check(cudaMalloc(&data_, bytes), "cudaMalloc"); }
  DeviceArray(DeviceArray&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~DeviceArray() { cudaFree(data_); }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// Only the grid's x axis: the others end at 65535 blocks. More than 48 KiB of shared memory must have been allowed to the kernel.
template <class... Parameters, class... Arguments>
void launch_shared(std::int64_t shared_bytes, void (*kernel)(Parameters...), std::int64_t blocks, int threads, cudaStream_t stream, const char* name,
                   const Arguments&... arguments) {
  if (blocks > INT_MAX) throw std::runtime_error(std::string(name) + " would need " + std::to_string(blocks) + " blocks, CUDA allows 2147483647");
  kernel<<<static_cast<unsigned>(blocks), threads, static_cast<std::size_t>(shared_bytes), stream>>>(arguments...);
  check(cudaGetLastError(), name);
}

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t blocks, int threads, cudaStream_t stream, const char* name, const Arguments&... arguments) {
  launch_shared(0, kernel, blocks, threads, stream, name, arguments...);
}

constexpr std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

__device__ inline float widen(float value) { return value; }
__device__ inline float widen(__half value) { return __half2float(value); }
__device__ inline float widen(__nv_bfloat16 value) { return __bfloat162float(value); }

template <class T>
__device__ T narrow(float value) {
  if constexpr (sizeof(T) == sizeof(float)) return value;
  else if constexpr (std::is_same_v<T, __half>) return __float2half_rn(value);
  else return __float2bfloat16_rn(value);
}

// Element `index` of memory in any of the three.
__device__ inline float load_as_float(const char* data, std::int64_t index, int dtype) {
  if (dtype == ATTN_FP32) return reinterpret_cast<const float*>(data)[index];
  if (dtype == ATTN_FP16) return widen(reinterpret_cast<const __half*>(data)[index]);
  return widen(reinterpret_cast<const __nv_bfloat16*>(data)[index]);
}

__device__ inline void store_from_float(char* data, std::int64_t index, int dtype, float value) {
  if (dtype == ATTN_FP32) reinterpret_cast<float*>(data)[index] = value;
  else if (dtype == ATTN_FP16) reinterpret_cast<__half*>(data)[index] = narrow<__half>(value);
  else reinterpret_cast<__nv_bfloat16*>(data)[index] = narrow<__nv_bfloat16>(value);
}

// The fast exponential's error is far below a 16-bit type's rounding, and above fp32's.
template <class T>
__device__ float exponential(float value) {
  if constexpr (sizeof(T) == sizeof(float)) return expf(value);
  constexpr float kLog2e = 1.44269504f;
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value * kLog2e));
  return result;
}

// Calls body with a value of the type that `dtype` names.
template <class Body>
void with_type(std::int32_t dtype, const Body& body) {
  if (dtype == ATTN_FP32) body(float{});
  else if (dtype == ATTN_FP16) body(__half{});
  else body(__nv_bfloat16{});
}

// The largest that one thread reads or writes at once.
template <class T>
inline constexpr int kPack = 16 / sizeof(T);

// `Count` elements in registers, read and written as one access when Count is kPack.
template <class T, int Count>
struct alignas(Count == 1 ? alignof(T) : 16) Values {
  T at[Count];
  __device__ void read(const T* from) {
    if constexpr (Count == 1) at[0] = *from;
    else *reinterpret_cast<uint4*>(at) = *reinterpret_cast<const uint4*>(from);
  }
  __device__ void write(T* to) const {
    if constexpr (Count == 1) *to = at[0];
    else *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(at);
  }
};

}  // namespace attn
