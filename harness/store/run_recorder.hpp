#pragma once
// Follows a run and stores it: a measurement as soon as it exists, its verdict when it is judged for good.

#include <map>
#include <string>
#include <utility>

#include "store/history.hpp"

namespace attn {

// `run` gives run_id, started_at, commit_id and command. A measurement that is announced again replaces the earlier one. `finished` stores environments,
// verdicts and the exit code, and whatever rows were never announced. What cannot be stored (a disk that is full) ends the recording and not the run: `fault`
// then says why, and the database keeps what it has.
class RunRecorder : public RunObserver {
 public:
  // Throws Error when not even the start can be stored.
  RunRecorder(History& history, const RunResult& run);
  void trial_measured(const Trial& trial, const Measurement& measurement, const Environment& environment) override;
  void finished(const RunResult& result) override;
  // Empty as long as everything was stored.
  const std::string& fault() const { return fault_; }
  // Measurements that the database has.
  std::size_t rows_kept() const { return stored_.size(); }

 private:
  template <class Body>
  void unless_failed(const Body& body);
  void store(const Trial& trial, const Measurement& measurement, const Environment& environment);

  struct Stored {
    MeasurementId id{};
    std::size_t blocks = 0;
    Status status = Status::ok;
  };
  History& history_;
  std::string run_id_, fault_;
  std::map<std::pair<std::string, std::int64_t>, Stored> stored_;  // by suite and Trial::index
};

}  // namespace attn
