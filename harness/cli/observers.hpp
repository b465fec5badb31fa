#pragma once
// Several observers of one run, told in their order.

#include <utility>
#include <vector>

#include "core/run_result.hpp"

namespace attn {

class Observers : public RunObserver {
 public:
  // They outlive this.
  explicit Observers(std::vector<RunObserver*> observers) : observers_(std::move(observers)) {}

  void planned(const std::vector<Trial>& trials) override {
    for (RunObserver* each : observers_) each->planned(trials);
  }
  void trial_started(const Trial& trial, Phase phase) override {
    for (RunObserver* each : observers_) each->trial_started(trial, phase);
  }
  void trial_measured(const Trial& trial, const Measurement& measurement, const Environment& environment) override {
    for (RunObserver* each : observers_) each->trial_measured(trial, measurement, environment);
  }
  void remeasuring(const Trial& trial, std::size_t block) override {
    for (RunObserver* each : observers_) each->remeasuring(trial, block);
  }
  void finished(const RunResult& result) override {
    for (RunObserver* each : observers_) each->finished(result);
  }

 private:
  std::vector<RunObserver*> observers_;
};

}  // namespace attn
