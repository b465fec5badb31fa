#pragma once
// What CUPTI delivered between two flushes, copied out of its buffers: plain values that can be stored, compared and made up in tests.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/activity.hpp"

namespace attn {

// A kernel, memcpy or memset as the device ran it. Times in nanoseconds of CUPTI's clock.
struct DeviceRecord {
  ActivityKind kind = ActivityKind::kernel;
  std::string name;                    // mangled kernel name, "Memcpy DtoD", "Memset"; hostile text
  std::optional<std::int64_t> bytes;   // of a memcpy or memset
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t correlation = 0;        // 0: none
  std::int64_t stream = 0, graph_node = 0, device = 0;
  std::int64_t grid_x = 0;             // of a kernel; tells markers apart
  static void fields(auto& self, auto&& visit) {
    visit("kind", self.kind);
    visit("name", self.name);
    visit("bytes", self.bytes);
    visit("start_ns", self.start_ns);
    visit("end_ns", self.end_ns);
    visit("correlation", self.correlation);
    visit("stream", self.stream);
    visit("graph_node", self.graph_node);
    visit("device", self.device);
    visit("grid_x", self.grid_x);
  }
};

// A call of the runtime (cuda...) or driver (cu...) interface. One may lie inside another.
struct ApiRecord {
  std::string name;                    // "cudaLaunchKernel", without a version suffix
  std::int64_t start_ns = 0, end_ns = 0, correlation = 0, thread = 0, result = 0;
  std::optional<std::int64_t> bytes;   // that a memcpy or memset was asked to move; empty for other calls, and where a call does not say so plainly
  static void fields(auto& self, auto&& visit) {
    visit("name", self.name);
    visit("start_ns", self.start_ns);
    visit("end_ns", self.end_ns);
    visit("correlation", self.correlation);
    visit("thread", self.thread);
    visit("result", self.result);
    visit("bytes", self.bytes);
  }
};

// Device memory that was taken or given back.
struct MemoryRecord {
  bool allocates = true;
  std::int64_t address = 0, bytes = 0, time_ns = 0;
  static void fields(auto& self, auto&& visit) {
    visit("allocates", self.allocates);
    visit("address", self.address);
    visit("bytes", self.bytes);
    visit("time_ns", self.time_ns);
  }
};

struct Recording {
  std::vector<DeviceRecord> device;
  std::vector<ApiRecord> api;
  std::vector<MemoryRecord> memory;
  std::optional<std::int64_t> dropped;  // records that CUPTI had no room for; empty: it could not say
  std::vector<std::string> faults;      // records that could not be read, and why
  static void fields(auto& self, auto&& visit) {
    visit("device", self.device);
    visit("api", self.api);
    visit("memory", self.memory);
    visit("dropped", self.dropped);
    visit("faults", self.faults);
  }
};

}  // namespace attn
