#pragma once
// An NVML without a card: values that a test sets.

#include <map>
#include <string>
#include <vector>

namespace attn::test {

struct StubNvml {
  std::map<std::string, int> returns;  // codes by function name; absent: success
  std::string bus_id = "00000000:1b:00.0", driver = "580.65.06", uuid = "GPU-0123";
  unsigned power_limit_mw = 700'000, power_mw = 412'500, sm_mhz = 1980, memory_mhz = 3201, temperature_c = 41, mig_mode = 0;
  unsigned long long reasons = 0;
  std::vector<unsigned> processes;
  long open = 0;  // nvmlInit_v2 less nvmlShutdown
};

// Exported by the stub under this name.
inline constexpr const char* kStubNvmlSymbol = "attn_stub_nvml";
using StubNvmlFunction = StubNvml* (*)();

}  // namespace attn::test
