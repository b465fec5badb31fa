// Launches through the driver's interface, past the runtime's. Counted like any other launch.
// expect: suite=counted status=ok check="row['counts']['launches'] == {'low': 1, 'high': 1} and row['counts']['kernels'] == {'low': 1, 'high': 1}"
#include <cuda.h>
#include <dlfcn.h>

#include "good.cuh"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    // The driver is in the process already, and stays.
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    launch_ = driver ? reinterpret_cast<decltype(launch_)>(dlsym(driver, "cuLaunchKernel")) : nullptr;
    if (!launch_) throw std::runtime_error("libcuda.so.1 has no cuLaunchKernel");
    attn::check(cudaGetFuncBySymbol(&function_, reinterpret_cast<const void*>(attn::good_attention)), "cudaGetFuncBySymbol");
  }
  void run(const attn_call& call) {
    std::int64_t first = 0, end = a_.elements();
    void* arguments[] = {&a_, &first, &end};
    const auto blocks = static_cast<unsigned>(attn::divide_up(end, kThreads));
    const CUresult code = launch_(function_, blocks, 1, 1, kThreads, 1, 1, 0, attn::stream_of(call), arguments, nullptr);
    if (code != CUDA_SUCCESS) throw std::runtime_error("cuLaunchKernel returned " + std::to_string(code));
  }

 private:
  decltype(&cuLaunchKernel) launch_ = nullptr;
  cudaFunction_t function_ = nullptr;
};
ATTN_BACKENDS(Mutant)
