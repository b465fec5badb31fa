#pragma once
// A worker seen from the parent: a child process that answers requests with records, whatever the backend inside does to it.

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/child_process.hpp"
#include "core/records.hpp"
#include "run/installation.hpp"

namespace attn {

struct Deadlines {
  std::chrono::nanoseconds phase, prepare;  // of a phase; of loading and `open`
};

// What one request gave.
struct TrialAnswer {
  MeasurementRecord record;
  std::vector<Block> blocks;
  std::string output;  // the tail of what was printed while loading, and of what the trial printed; only when it did not end well
};

class Worker {
 public:
  // Starts the worker on a device ("cpu", "cuda:N", "auto") and waits for its environment. Check `fault()` afterwards.
  Worker(const WorkerCommand& command, const std::string& device, const Deadlines& deadlines, const std::atomic<bool>& interrupted);

  // For workers that keep a process aside in which their code is loaded and nothing was done yet: ends the one that answers, and its hold on the device.
  void renew();
  // After `renew`: as the constructor, with another process of that kind. False when there is none to be had and the worker is over.
  bool reopen(const std::string& device, const Deadlines& deadlines);

  // Set when the worker came to nothing: it died, hung or spoke nonsense before its first record. The record's status says which.
  const std::optional<MeasurementRecord>& fault() const { return fault_; }
  const EnvironmentRecord& facts() const { return facts_; }
  // The tail of what was printed while the code was loaded, ended by a line end; hostile text.
  const std::string& loading_output() const { return loading_output_; }
  bool alive() const { return alive_; }

  // Runs one request; `started` hears of each phase. A worker that dies, hangs or speaks nonsense gives crashed, timed_out or failed and is dead afterwards.
  TrialAnswer run(const Request& request, const std::function<void(Phase)>& started);

 private:
  // Waits for one record until the deadline, which was `patience` away when it was set; on anything else ends the worker and fills `why` instead.
  std::optional<Record> next(std::chrono::nanoseconds patience, ChildProcess::Clock::time_point deadline, const std::string& during, MeasurementRecord& why);
  void open(const std::string& device);
  void end(MeasurementRecord& why, Status status, const std::string& reason);

  Deadlines deadlines_;
  const std::atomic<bool>& interrupted_;
  ChildProcess child_;
  EnvironmentRecord facts_;
  std::string loading_output_;
  std::optional<MeasurementRecord> fault_;
  bool alive_ = true;
};

}  // namespace attn
