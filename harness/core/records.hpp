#pragma once
// What parent and worker say to each other, one JSON line each; the worker's records are also the export format and the golden fixtures.

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/json.hpp"
#include "core/environment.hpp"
#include "core/measurement.hpp"

namespace attn {

// Parent to worker, before all requests.
struct Opening {
  std::string device = "auto";  // "cpu", "cuda:N", "auto": a GPU when there is one
  static void fields(auto& self, auto&& visit) { visit("device", self.device); }
};

// Parent to worker: run this case on this backend. `supports_only` asks nothing but whether it could.
struct Request {
  std::int64_t trial = 0;
  std::string backend;                         // name inside the worker's backend list
  std::string case_id;                         // a case travels as its id
  std::map<std::string, std::string> options;
  std::uint64_t seed = 1;
  bool supports_only = false;
  bool control = false;                        // a control row: fixed work, no attention to check
  bool bare = true;                            // calls that nothing listens to; on a GPU before any device_time or accounting of the same worker
  bool device_time = false, accounting = true, numerics = true;
  bool timing = true;                          // report the times of bare and device_time
  std::int64_t min_calls = 5, max_calls = 100;  // of the timed phase
  std::int64_t timing_ns = 200'000'000;         // stop after min_calls once this much was spent
  static void fields(auto& self, auto&& visit) {
    visit("trial", self.trial);
    visit("backend", self.backend);
    visit("case_id", self.case_id);
    visit("options", self.options);
    visit("seed", self.seed);
    visit("supports_only", self.supports_only);
    visit("control", self.control);
    visit("bare", self.bare);
    visit("timing", self.timing);
    visit("device_time", self.device_time);
    visit("accounting", self.accounting);
    visit("numerics", self.numerics);
    visit("min_calls", self.min_calls);
    visit("max_calls", self.max_calls);
    visit("timing_ns", self.timing_ns);
  }
};

// What a worker's backend list holds.
struct BackendFacts {
  std::string name, version;
  DeviceType device = DeviceType::cpu;
  std::uint64_t can = 0, flags = 0;
  static void fields(auto& self, auto&& visit) {
    visit("name", self.name);
    visit("version", self.version);
    visit("device", self.device);
    visit("can", self.can);
    visit("flags", self.flags);
  }
};

// First record of every worker.
struct EnvironmentRecord {
  static constexpr const char* kName = "environment";
  Environment environment;
  std::vector<BackendFacts> backends;
  static void fields(auto& self, auto&& visit) {
    visit("environment", self.environment);
    visit("backends", self.backends);
  }
};

// A phase of a trial begins; the last one before silence names where a worker died.
struct StartedRecord {
  static constexpr const char* kName = "started";
  std::int64_t trial = 0;
  Phase phase = Phase::open;
  static void fields(auto& self, auto&& visit) {
    visit("trial", self.trial);
    visit("phase", self.phase);
  }
};

struct BlockRecord {
  static constexpr const char* kName = "block";
  std::int64_t trial = 0;
  Block block;
  static void fields(auto& self, auto&& visit) {
    visit("trial", self.trial);
    visit("block", self.block);
  }
};

// Last record of every trial.
struct MeasurementRecord {
  static constexpr const char* kName = "measurement";
  std::int64_t trial = 0;
  Status status = Status::ok;
  std::string reason;
  bool counted = false;                // `calls` is complete; false: counts are unknown
  std::vector<CallActivities> calls;   // of the accounting phase
  std::optional<bool> capturable;      // into a CUDA graph
  bool worker_ends = false;            // the device is lost: another worker must go on
  Numerics numerics;
  Memory memory;
  static void fields(auto& self, auto&& visit) {
    visit("trial", self.trial);
    visit("status", self.status);
    visit("reason", self.reason);
    visit("counted", self.counted);
    visit("calls", self.calls);
    visit("capturable", self.capturable);
    visit("worker_ends", self.worker_ends);
    visit("numerics", self.numerics);
    visit("memory", self.memory);
  }
};

using Record = std::variant<EnvironmentRecord, StartedRecord, BlockRecord, MeasurementRecord>;

// {"record": "block", ...} in one line.
template <class T>
std::string record_line(const T& record) {
  Json json{{"record", T::kName}};
  json.update(to_json(record));
  return dump_line(json);
}

// Throws Error when the line is no record.
Record parse_record(const std::string& line);

}  // namespace attn
