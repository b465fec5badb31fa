// Copies to the host, computes there and copies back: right numbers, and no attention on the device (CASES R07).
// expect: suite=plain status=ok verdict=regressed exit=1 verdict_reason="kernel_path none" check="row['counts']['copies']['low'] == 4 and row['counts']['copy_bytes']['low'] == 4 * 768 and row['counts']['kernels'] == {'low': 0, 'high': 0}"
#include <array>
#include <vector>

#include "../../backends/good.hpp"
#include "cuda_backend.cuh"

// A tensor's twin on the host. Dense, so that its memory is one piece.
struct Twin {
  explicit Twin(const DLTensor& tensor) : on_device(static_cast<char*>(tensor.data) + tensor.byte_offset), dl(tensor) {
    std::size_t elements = 1;
    for (int axis = 0; axis < 4; ++axis) elements *= static_cast<std::size_t>(tensor.shape[axis]);
    memory.resize(elements * sizeof(float));
    dl.data = memory.data();
    dl.byte_offset = 0;
  }
  void copy(cudaMemcpyKind kind, cudaStream_t stream) {
    const bool back = kind == cudaMemcpyHostToDevice;
    attn::check(cudaMemcpyAsync(back ? on_device : memory.data(), back ? memory.data() : on_device, memory.size(), kind, stream), "cudaMemcpyAsync");
  }
  char* on_device;
  std::vector<char> memory;
  DLTensor dl;
};

class Mutant {
 public:
  static constexpr attn::BackendInfo info{.name = "mutant", .can = ATTN_CAN_FP32, .device_type = ATTN_DEVICE_CUDA};
  static attn::Support supports(const attn_problem&, const attn_device_facts&) { return {}; }
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : twins_{Twin(*tensors.q), Twin(*tensors.k), Twin(*tensors.v), Twin(*tensors.o)}, tensors_(tensors), good_(problem, on_host(), device, options) {
    attn::check(cudaSetDevice(device.device_id), "cudaSetDevice");
  }
  void run(const attn_call& call) {
    const auto stream = static_cast<cudaStream_t>(call.stream);
    for (std::size_t input = 0; input < 3; ++input) twins_[input].copy(cudaMemcpyDeviceToHost, stream);
    attn::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    const attn_call silent{};
    good_.run(silent);
    twins_[3].copy(cudaMemcpyHostToDevice, stream);
  }

 private:
  const attn_tensors& on_host() {
    tensors_.q = &twins_[0].dl;
    tensors_.k = &twins_[1].dl;
    tensors_.v = &twins_[2].dl;
    tensors_.o = &twins_[3].dl;
    return tensors_;
  }
  std::array<Twin, 4> twins_;
  attn_tensors tensors_;
  attn::Good good_;
};
ATTN_BACKENDS(Mutant)
