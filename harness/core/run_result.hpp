#pragma once
// A run: its rows with their verdicts, and the events by which it is followed while it goes on.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/environment.hpp"
#include "core/measurement.hpp"
#include "core/suite.hpp"
#include "core/verdict.hpp"

namespace attn {

struct Row {
  Trial trial;
  Measurement measurement;
  Verdict verdict;
  std::size_t environment = 0;       // index into RunResult::environments
  std::string baseline_commit;       // of the baseline it was judged against; empty when there was none
  std::optional<double> baseline_device_ns;
  std::string reproduce;             // the command that runs just this row
};

// Of a run that holds one side against another instead of against baselines.
struct Comparison {
  std::vector<std::string> a, b;         // what each side was told to have, as typed: "python=old/bin/python"
  std::vector<std::string> differences;  // what differs between their records: "naive: backend libold.so 12ab -> libnew.so 34cd"
  static void fields(auto& self, auto&& visit) {
    visit("a", self.a);
    visit("b", self.b);
    visit("differences", self.differences);
  }
};

struct RunResult {
  std::string run_id;                // unique: time and random digits
  std::string started_at, finished_at;  // ISO 8601, UTC
  std::string commit_id;
  std::vector<std::string> command;  // as typed
  std::optional<Comparison> comparison;
  std::vector<Environment> environments;
  std::vector<Row> rows;             // in the suite's order, control rows last
  std::vector<std::string> warnings;
  ExitCode exit = ExitCode::pass;
};

// Told of a run as it goes on. Rows arrive when they are judged for good; a measurement is stored before.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void planned([[maybe_unused]] const std::vector<Trial>& trials) {}
  virtual void trial_started([[maybe_unused]] const Trial& trial, [[maybe_unused]] Phase phase) {}
  virtual void trial_measured([[maybe_unused]] const Trial& trial, [[maybe_unused]] const Measurement& measurement,
                              [[maybe_unused]] const Environment& environment) {}
  virtual void remeasuring([[maybe_unused]] const Trial& trial, [[maybe_unused]] std::size_t block) {}
  virtual void finished([[maybe_unused]] const RunResult& result) {}
};

}  // namespace attn
