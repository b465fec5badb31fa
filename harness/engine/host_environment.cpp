#include "engine/host_environment.hpp"

#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <string>

extern "C" char** environ;

namespace attn {
namespace {

constexpr std::int64_t kAssumedCacheBytes = 32 << 20;  // where the system does not tell

// The value behind "key : value" in a /proc file; empty when there is none.
std::string proc_value(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key))
      if (const auto colon = line.find(':'); colon != std::string::npos) {
        const auto start = line.find_first_not_of(" \t", colon + 1);
        return start == std::string::npos ? "" : line.substr(start);
      }
  return "";
}

double proc_kib(const std::string& key) {
  const std::string value = proc_value("/proc/meminfo", key);
  return value.empty() ? 0 : std::stod(value) * 1024;
}

// Lower case, runs of anything but letters and digits become one '-'.
std::string slug(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c))) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "unknown" : out;
}

std::int64_t usable_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return std::max<std::int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
}

bool is_switch(const char* entry) {
  for (const char* prefix : {"OPENBLAS_", "GOTO_", "OMP_", "MKL_", "KMP_", "BLIS_", "GLIBC_TUNABLES", "MALLOC_", "LD_PRELOAD", "LD_LIBRARY_PATH", "TORCH_", "PYTORCH_",
                             "TRITON_", "CUDA_", "CUBLAS_", "CUBLASLT_", "CUDNN_", "NVIDIA_"})
    if (std::strncmp(entry, prefix, std::strlen(prefix)) == 0) return true;
  return false;
}

}  // namespace

Environment host_environment() {
  Environment environment;
  utsname system{};
  uname(&system);
  environment.device_name = proc_value("/proc/cpuinfo", "model name");
  if (environment.device_name.empty()) environment.device_name = system.machine;
  environment.threads = usable_threads();
  environment.arch = std::string("cpu.") + system.machine;
  environment.platform = "cpu." + slug(environment.device_name) + "." + std::to_string(environment.threads) + "t";
  environment.memory_bytes = static_cast<std::int64_t>(proc_kib("MemTotal"));
  const std::int64_t cache = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
  environment.cache_bytes = cache > 0 ? cache : kAssumedCacheBytes;
  environment.operating_system = std::string(system.sysname) + " " + system.release;
  environment.libraries["glibc"] = {gnu_get_libc_version(), ""};
  for (char** entry = environ; *entry; ++entry)
    if (const char* equals = std::strchr(*entry, '='); equals && is_switch(*entry)) environment.switches[std::string(static_cast<const char*>(*entry), equals)] = equals + 1;
  return environment;
}

attn_device_facts host_device_facts(const Environment& environment) {
  attn_device_facts facts{};
  facts.struct_size = sizeof facts;
  facts.device_type = ATTN_DEVICE_CPU;
  facts.threads = static_cast<std::int32_t>(environment.threads);
  facts.memory_bytes = static_cast<std::uint64_t>(environment.memory_bytes);
  facts.cache_bytes = static_cast<std::uint64_t>(environment.cache_bytes);
  return facts;
}

double available_memory_bytes() { return proc_kib("MemAvailable"); }

}  // namespace attn
