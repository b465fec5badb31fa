#pragma once
// Arithmetic that a host and a GPU must agree on is written once, in functions that both compile.

#ifdef __CUDACC__
#define ATTN_HOST_DEVICE __host__ __device__
#else
#define ATTN_HOST_DEVICE
#endif

namespace attn {

// a * b, rounded, also where the compiler would rather join it to the next addition (nvcc contracts by default), which rounds otherwise.
ATTN_HOST_DEVICE inline float rounded_product(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

}  // namespace attn
