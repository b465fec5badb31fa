#include "store/run_recorder.hpp"

namespace attn {

RunRecorder::RunRecorder(History& history, const RunResult& run) : history_(history), run_id_(run.run_id) { history_.run_started(run); }

template <class Body>
void RunRecorder::unless_failed(const Body& body) {
  if (!fault_.empty()) return;
  try {
    body();
  } catch (const Error& error) {
    if (error.fault() == Fault::internal) throw;
    fault_ = error.what();
  }
}

void RunRecorder::trial_measured(const Trial& trial, const Measurement& measurement, const Environment& environment) {
  unless_failed([&] { store(trial, measurement, environment); });
}

void RunRecorder::store(const Trial& trial, const Measurement& measurement, const Environment& environment) {
  const std::pair key(trial.suite, trial.index);
  const auto place = stored_.find(key);
  if (place == stored_.end()) {
    stored_[key] = {history_.add(run_id_, trial, measurement, environment), measurement.blocks.size(), measurement.status};
    return;
  }
  Stored& stored = place->second;
  if (stored.blocks != measurement.blocks.size() || stored.status != measurement.status) history_.replace(stored.id, measurement);
  stored.blocks = measurement.blocks.size();
  stored.status = measurement.status;
}

void RunRecorder::finished(const RunResult& result) {
  unless_failed([&] {
    for (const Row& row : result.rows) {
      store(row.trial, row.measurement, row.environment < result.environments.size() ? result.environments[row.environment] : Environment{});
      history_.set_verdict(stored_.at({row.trial.suite, row.trial.index}).id, row);
    }
    RunResult own = result;
    own.run_id = run_id_;
    history_.run_finished(own);
  });
}

}  // namespace attn
