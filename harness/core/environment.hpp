#pragma once
// Where a measurement was made: what decides comparability (arch, platform) and what may explain a change (versions, switches).

#include <cstdint>
#include <map>
#include <string>

#include "core/words.hpp"

namespace attn {

// A library as it was loaded.
struct LibraryVersion {
  std::string version;
  std::string path;
  static void fields(auto& self, auto&& visit) {
    visit("version", self.version);
    visit("path", self.path);
  }
  bool operator==(const LibraryVersion&) const = default;
};

// The key of the plugin itself; its version is the file's name, with the class or the backend in it where the suite's entry does not say which, and a
// fingerprint of the contents.
inline constexpr const char* kBackendLibrary = "backend";
// The key of a Python backend's interpreter: its path as it was named. It may be a script that starts another, so what Python says of itself tells less.
inline constexpr const char* kInterpreter = "interpreter";

struct Environment {
  DeviceType device = DeviceType::cpu;
  std::string device_name;      // "AMD EPYC 7B13" or "NVIDIA H200"
  std::string device_uuid;      // of a GPU: which card; empty for a CPU
  std::string arch;             // key for counts, path, numerics, memory: "cpu.x86_64", "cuda.sm90"
  std::string platform;         // key for times, fit for a folder's name: "cpu.amd-epyc-7b13.2t"
  std::int64_t threads = 0;     // CPU threads that may be used
  std::int64_t memory_bytes = 0;
  std::int64_t cache_bytes = 0;  // last-level cache
  std::string operating_system;
  std::string engine;           // version and build id of the engine
  std::map<std::string, LibraryVersion> libraries;  // kBackendLibrary and what it brought along
  std::map<std::string, std::string> switches;  // environment variables that change what libraries do

  static void fields(auto& self, auto&& visit) {
    visit("device", self.device);
    visit("device_name", self.device_name);
    visit("device_uuid", self.device_uuid);
    visit("arch", self.arch);
    visit("platform", self.platform);
    visit("threads", self.threads);
    visit("memory_bytes", self.memory_bytes);
    visit("cache_bytes", self.cache_bytes);
    visit("operating_system", self.operating_system);
    visit("engine", self.engine);
    visit("libraries", self.libraries);
    visit("switches", self.switches);
  }
};

}  // namespace attn
