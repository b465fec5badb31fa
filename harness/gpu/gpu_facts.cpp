#include "gpu/gpu_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <optional>

#include "gpu/cuda.hpp"
#include "gpu/loaded_libraries.hpp"
#include "gpu/nvml.hpp"

extern "C" char** environ;

namespace attn {
namespace {

std::string cuda_version(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

// Lower case; runs of anything but letters, digits and dots become one '-'.
std::string slug(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "unknown" : out;
}

// "NVIDIA H200 MIG 1g.18gb": the driver names the slice behind the card.
struct DeviceName {
  std::string card, slice;
  explicit DeviceName(const std::string& name) {
    const auto at = name.find(" MIG ");
    card = name.substr(0, at);
    if (at != std::string::npos) slice = name.substr(at + 5);
  }
};

std::string uuid_text(const cudaUUID_t& uuid, bool slice) {
  std::string text = slice ? "MIG-" : "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

bool is_switch(const std::string& name) {
  for (const char* secret : {"KEY", "TOKEN", "SECRET", "PASSWORD"})  // NVIDIA_API_KEY: what is recorded may be published
    if (name.find(secret) != std::string::npos) return false;
  for (const char* prefix : {"CUDA_", "NVIDIA_", "CUBLAS", "CUDNN_"})
    if (name.starts_with(prefix)) return true;
  return false;
}

cudaDeviceProp properties(int ordinal) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, ordinal), fmt::format("cudaGetDeviceProperties of device {}", ordinal));
  return properties;
}

}  // namespace

int gpu_count(std::string& why, bool* expected) {
  int count = 0, driver = 0;
  why.clear();
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count > 0) return count;
  cudaGetLastError();
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (code == cudaErrorStubLibrary) why = "libcuda.so.1 is the toolkit's stub, not a driver: take the toolkit's folder lib64/stubs out of LD_LIBRARY_PATH";
  else if (driver == 0) why = "no NVIDIA driver (libcuda.so.1): a container needs --gpus all";
  else if (code == cudaErrorInsufficientDriver)
    why = fmt::format("the driver supports CUDA {}, this build needs {}.0 or newer", cuda_version(driver), CUDART_VERSION / 1000);
  else if (code == cudaErrorSystemDriverMismatch)
    why = "the NVIDIA driver's kernel module and libcuda.so.1 differ in version: reboot, or reload the module, after an update of the driver";
  else if (code == cudaErrorSystemNotReady) why = "the NVIDIA driver is not ready (cudaErrorSystemNotReady): is nvidia-fabricmanager running?";
  else if (code == cudaErrorNoDevice || code == cudaSuccess) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    why = visible ? fmt::format("no CUDA device is visible with CUDA_VISIBLE_DEVICES={}", visible) : "the driver finds no CUDA device";
  } else why = fmt::format("{} ({}) when asked for its devices, with a driver for CUDA {}", cudaGetErrorString(code), cudaGetErrorName(code), cuda_version(driver));
  if (expected) *expected = driver != 0 || code == cudaErrorStubLibrary;
  return 0;
}

void describe_gpu(int ordinal, Environment& environment) {
  const cudaDeviceProp device = properties(ordinal);
  const DeviceName name(device.name);
  environment.device = DeviceType::cuda;
  environment.device_name = device.name;
  environment.device_uuid = uuid_text(device.uuid, !name.slice.empty());
  environment.arch = fmt::format("cuda.sm{}{}", device.major, device.minor);
  environment.memory_bytes = static_cast<std::int64_t>(device.totalGlobalMem);
  environment.cache_bytes = device.l2CacheSize;
  environment.platform = slug(name.card);

  int driver = 0, runtime = 0;
  check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  std::string driver_version = "for CUDA " + cuda_version(driver);
  try {
    const Nvml nvml(gpu_pci_bus_id(ordinal));
    if (const auto limit = nvml.power_limit_w()) environment.platform += fmt::format(".{}w", std::lround(*limit));
    if (const std::string version = nvml.driver_version(); !version.empty()) driver_version = version;
  } catch (const Error&) {  // the card is described without what only NVML knows
  }
  if (!name.slice.empty()) environment.platform += ".mig-" + slug(name.slice);
  environment.libraries["driver"] = {driver_version, loaded_library("libcuda.so")};
  environment.libraries["cuda runtime"] = {cuda_version(runtime), ""};
  for (char** entry = environ; *entry; ++entry)
    if (const char* equals = std::strchr(*entry, '='))
      if (const std::string key(static_cast<const char*>(*entry), equals); is_switch(key)) environment.switches[key] = equals + 1;
}

attn_device_facts gpu_device_facts(int ordinal) {
  const cudaDeviceProp device = properties(ordinal);
  attn_device_facts facts{};
  facts.struct_size = sizeof facts;
  facts.device_type = ATTN_DEVICE_CUDA;
  facts.device_id = ordinal;
  facts.sm_major = device.major;
  facts.sm_minor = device.minor;
  facts.sm_count = device.multiProcessorCount;
  facts.memory_bytes = device.totalGlobalMem;
  facts.cache_bytes = static_cast<std::uint64_t>(device.l2CacheSize);
  facts.shared_optin_bytes = device.sharedMemPerBlockOptin;
  return facts;
}

std::string gpu_pci_bus_id(int ordinal) {
  char text[32] = "";
  check_cuda(cudaDeviceGetPCIBusId(text, sizeof text, ordinal), fmt::format("cudaDeviceGetPCIBusId of device {}", ordinal));
  return text;
}

}  // namespace attn
