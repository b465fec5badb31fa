#include "stubs/stub_nvml.hpp"

#include <cstdio>

#define STUB_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Device = attn::test::StubNvml*;

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

attn::test::StubNvml& stub() {
  static attn::test::StubNvml state;
  return state;
}

int result_of(const char* function) {
  const auto found = stub().returns.find(function);
  return found == stub().returns.end() ? 0 : found->second;
}

template <class T>
int give(const char* function, T* into, T value) {
  *into = value;
  return result_of(function);
}

int write(const char* function, const std::string& text, char* into, unsigned size) {
  if (text.size() >= size) return 7;
  std::snprintf(into, size, "%s", text.c_str());
  return result_of(function);
}

}  // namespace

STUB_EXPORT attn::test::StubNvml* attn_stub_nvml() { return &stub(); }
STUB_EXPORT const char* nvmlErrorString(int result) { return result == 9 ? "Driver Not Loaded" : result == 6 ? "Not Found" : "Some Error"; }

STUB_EXPORT int nvmlInit_v2() {
  const int result = result_of("nvmlInit_v2");
  if (result == 0) ++stub().open;
  return result;
}

STUB_EXPORT int nvmlShutdown() {
  --stub().open;
  return 0;
}

STUB_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Device* device) {
  if (stub().bus_id != bus_id) return 6;
  return give("nvmlDeviceGetHandleByPciBusId_v2", device, &stub());
}

STUB_EXPORT int nvmlSystemGetDriverVersion(char* text, unsigned size) { return write("nvmlSystemGetDriverVersion", stub().driver, text, size); }
STUB_EXPORT int nvmlDeviceGetUUID(Device device, char* text, unsigned size) { return write("nvmlDeviceGetUUID", device->uuid, text, size); }
STUB_EXPORT int nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* limit) { return give("nvmlDeviceGetEnforcedPowerLimit", limit, device->power_limit_mw); }
STUB_EXPORT int nvmlDeviceGetPowerUsage(Device device, unsigned* power) { return give("nvmlDeviceGetPowerUsage", power, device->power_mw); }

STUB_EXPORT int nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  *pending = 0;
  return give("nvmlDeviceGetMigMode", current, device->mig_mode);
}

STUB_EXPORT int nvmlDeviceGetClockInfo(Device device, unsigned clock, unsigned* mhz) {
  return give("nvmlDeviceGetClockInfo", mhz, clock == 1 ? device->sm_mhz : clock == 2 ? device->memory_mhz : 0u);
}

STUB_EXPORT int nvmlDeviceGetTemperature(Device device, unsigned sensor, unsigned* celsius) {
  return sensor == 0 ? give("nvmlDeviceGetTemperature", celsius, device->temperature_c) : 2;
}

STUB_EXPORT int nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* reasons) {
  return give("nvmlDeviceGetCurrentClocksEventReasons", reasons, device->reasons);
}

STUB_EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  return give("nvmlDeviceGetCurrentClocksThrottleReasons", reasons, device->reasons);
}

STUB_EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, ProcessInfo* processes) {
  if (const int result = result_of("nvmlDeviceGetComputeRunningProcesses_v3"); result != 0) return result;
  const auto have = static_cast<unsigned>(device->processes.size());
  if (*count < have) {
    *count = have;
    return 7;
  }
  *count = have;
  for (unsigned i = 0; i < have; ++i) processes[i] = {device->processes[i], 1 << 20, ~0u, ~0u};
  return 0;
}
