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
int count_gpus(std::string& why) { return gpu_count(why); }
#else
std::unique_ptr<Device> open_gpu(int) { throw Error("this build measures CPUs only"); }
int count_gpus(std::string& why) {
  why = "this build measures CPUs only";
  return 0;
}
#endif

}  // namespace

std::unique_ptr<Device> open_device(const std::string& name) {
  if (name == "cpu") return std::make_unique<HostDevice>();
  std::string why;
  const int count = count_gpus(why);
  if (name == "auto") return count > 0 ? open_gpu(0) : std::make_unique<HostDevice>();
  int ordinal = 0;
  if (name != "cuda") {
    constexpr std::string_view kPrefix = "cuda:";
    const std::string digits = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : "";
    if (digits.empty() || digits.size() > 3 || digits.find_first_not_of("0123456789") != std::string::npos)
      throw Error(fmt::format("no device is called {}: there are cpu, cuda and cuda:N", name));
    ordinal = std::stoi(digits);
  }
  if (count == 0) throw Error("no GPU: " + why);
  if (ordinal >= count) throw Error(fmt::format("no GPU {}: this machine has {}, counted from 0", ordinal, count));
  return open_gpu(ordinal);
}

HostCopy read_dense(Device& device, const TensorView& source) {
  const auto [batch, heads, seq, dim] = source.shape;
  HostCopy copy;
  copy.view = source;
  copy.view.strides = {seq * heads * dim, dim, heads * dim, 1};
  copy.storage.resize(static_cast<std::size_t>(batch * heads * seq * dim) * element_bytes(source.dtype));
  copy.view.data = copy.storage.data();
  device.read_dense(copy.storage.data(), source);
  return copy;
}

}  // namespace attn
