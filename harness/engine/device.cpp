#include "engine/device.hpp"

#include "base/error.hpp"
#include "engine/host_device.hpp"
#if ATTN_CUDA
#include "engine/gpu_device.hpp"
#endif

namespace attn {
namespace {

#if ATTN_CUDA
std::unique_ptr<Device> open_gpu(int ordinal) { return std::make_unique<GpuDevice>(ordinal); }
int count_gpus(std::string& why, bool& expected) { return gpu_count(why, &expected); }
#else
std::unique_ptr<Device> open_gpu(int) { throw Error("this build measures CPUs only: build it where nvcc and CUPTI's headers are"); }
int count_gpus(std::string& why, bool&) {
  why = "this build measures CPUs only: build it where nvcc and CUPTI's headers are";
  return 0;
}
#endif

}  // namespace

std::unique_ptr<Device> open_device(const std::string& name) {
  if (name == "cpu") return std::make_unique<HostDevice>();
  std::string why;
  bool expected = false;
  const int count = count_gpus(why, expected);
  if (name == "auto" && count == 0) {
    // A machine without a driver is a CPU; one whose GPU cannot be used must not go green on its CPU.
    if (expected) throw Error(fmt::format("no GPU can be used: {}; --device cpu measures the CPU", why));
    return std::make_unique<HostDevice>();
  }
  if (name == "auto") return open_gpu(0);
  int ordinal = 0;
  if (name != "cuda") {
    constexpr std::string_view kPrefix = "cuda:";
    const std::string digits = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : "";
    if (digits.empty() || digits.size() > 3 || digits.find_first_not_of("0123456789") != std::string::npos)
      throw Error(fmt::format("no device is called {}: there are cpu, cuda and cuda:N", name));
    ordinal = std::stoi(digits);
  }
  if (count == 0) throw Error(fmt::format("no GPU: {}; --device cpu measures the CPU", why));
  if (ordinal >= count) throw Error(fmt::format("no GPU {}: this machine has {}, counted from 0", ordinal, count));
  return open_gpu(ordinal);
}

HostCopy read_dense(Device& device, const TensorView& source) {
  const auto [batch, heads, seq, dim] = source.shape;
  HostCopy copy;
  copy.view = source;
  copy.view.rows = {};
  copy.view.strides = {seq * heads * dim, dim, heads * dim, 1};
  copy.storage.resize(static_cast<std::size_t>(batch * heads * seq * dim) * element_bytes(source.dtype));
  copy.view.data = copy.storage.data();
  device.read_dense(copy.storage.data(), source);
  return copy;
}

}  // namespace attn
