#include "gpu/nvml.hpp"

#include <fmt/format.h>

#include <utility>

namespace attn {
namespace {

// NVML's interface as far as it is used here: its header is no part of a driver's installation, and these calls have not changed since they exist.
using Device = void*;
using Result = int;
constexpr Result kSuccess = 0, kInsufficientSize = 7;
constexpr unsigned kClockSm = 1, kClockMemory = 2, kTemperatureGpu = 0;

struct ProcessInfo {  // nvmlProcessInfo_v2_t, which _v3 of the call uses as well
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

// Idleness (bit 0) is left out, and so is the sync boost of coupled cards (0x10): neither says that this work was slowed.
constexpr std::pair<unsigned long long, const char*> kThrottleReasons[] = {
    {0x2, "application clocks"}, {0x4, "power cap"},          {0x8, "hardware slowdown"}, {0x20, "thermal (software)"},
    {0x40, "thermal (hardware)"}, {0x80, "power brake"}, {0x100, "display clocks"},
};

template <class... Arguments>
bool call(const SharedLibrary& library, const char* name, Arguments... arguments) {
  const auto function = library.find<Result (*)(Arguments...)>(name);
  return function && function(arguments...) == kSuccess;
}

std::optional<double> number(const SharedLibrary& library, const char* name, Device device, double scale) {
  unsigned value = 0;
  if (!call(library, name, device, &value)) return std::nullopt;
  return value * scale;
}

std::optional<double> number(const SharedLibrary& library, const char* name, Device device, unsigned which) {
  unsigned value = 0;
  if (!call(library, name, device, which, &value)) return std::nullopt;
  return value;
}

std::string error_text(const SharedLibrary& library, Result result) {
  const auto text = library.find<const char* (*)(Result)>("nvmlErrorString");
  return fmt::format("{} (NVML error {})", text ? text(result) : "unknown", result);
}

}  // namespace

Nvml::Nvml(const std::string& pci_bus_id, const std::string& library) : library_(library) {
  const auto init = library_.find<Result (*)()>("nvmlInit_v2");
  const auto find = library_.find<Result (*)(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2");
  if (!init || !find) throw Error(fmt::format("{} is no NVML: it has no nvmlInit_v2 or no nvmlDeviceGetHandleByPciBusId_v2", library));
  if (const Result result = init(); result != kSuccess) throw Error(fmt::format("nvmlInit_v2: {}", error_text(library_, result)), Fault::internal);
  if (const Result result = find(pci_bus_id.c_str(), &device_); result != kSuccess) {
    const std::string text = fmt::format("NVML knows no card at PCI bus id {}: {}", pci_bus_id, error_text(library_, result));
    call(library_, "nvmlShutdown");
    throw Error(text, Fault::internal);
  }
}

Nvml::~Nvml() { call(library_, "nvmlShutdown"); }

std::string Nvml::driver_version() const {
  char text[96] = "";
  return call(library_, "nvmlSystemGetDriverVersion", static_cast<char*>(text), static_cast<unsigned>(sizeof text)) ? text : "";
}

std::optional<double> Nvml::power_limit_w() const { return number(library_, "nvmlDeviceGetEnforcedPowerLimit", device_, 1e-3); }

std::string Nvml::uuid() const {
  char text[96] = "";
  return call(library_, "nvmlDeviceGetUUID", device_, static_cast<char*>(text), static_cast<unsigned>(sizeof text)) ? text : "";
}

bool Nvml::mig() const {
  unsigned current = 0, pending = 0;
  return call(library_, "nvmlDeviceGetMigMode", device_, &current, &pending) && current == 1;
}

ClockState Nvml::clocks() const {
  ClockState state;
  state.sm_mhz = number(library_, "nvmlDeviceGetClockInfo", device_, kClockSm);
  state.memory_mhz = number(library_, "nvmlDeviceGetClockInfo", device_, kClockMemory);
  state.power_w = number(library_, "nvmlDeviceGetPowerUsage", device_, 1e-3);
  state.temperature_c = number(library_, "nvmlDeviceGetTemperature", device_, kTemperatureGpu);
  unsigned long long reasons = 0;
  if (call(library_, "nvmlDeviceGetCurrentClocksEventReasons", device_, &reasons) ||
      call(library_, "nvmlDeviceGetCurrentClocksThrottleReasons", device_, &reasons))  // its name before driver 535
    for (const auto& [bit, name] : kThrottleReasons)
      if (reasons & bit) state.throttle_reasons.emplace_back(name);
  return state;
}

std::optional<std::vector<std::int64_t>> Nvml::computing_processes() const {
  using Function = Result (*)(Device, unsigned*, ProcessInfo*);
  auto function = library_.find<Function>("nvmlDeviceGetComputeRunningProcesses_v3");
  if (!function) function = library_.find<Function>("nvmlDeviceGetComputeRunningProcesses_v2");
  if (!function) return std::nullopt;
  std::vector<ProcessInfo> processes(16);
  for (int attempt = 0; attempt < 4; ++attempt) {  // more may start between two calls
    unsigned count = static_cast<unsigned>(processes.size());
    const Result result = function(device_, &count, processes.data());
    if (result == kInsufficientSize) {
      processes.resize(2 * std::size_t{count} + 16);
      continue;
    }
    if (result != kSuccess) return std::nullopt;
    std::vector<std::int64_t> pids;
    for (unsigned i = 0; i < count && i < processes.size(); ++i) pids.push_back(processes[i].pid);
    return pids;
  }
  return std::nullopt;
}

}  // namespace attn
