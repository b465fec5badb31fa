#include <cmath>
#include <memory>

#include "base/error.hpp"
#include "core/units.hpp"
#include "run/requests.hpp"
#include "run/resolve.hpp"
#include "run/run.hpp"
#include "run/worker_process.hpp"

namespace attn {

double cost(const Case& value) { return flops(value) + kFlopsPerByte * minimal_bytes(value); }

std::string too_costly(const Case& value, DeviceType device, const RunOptions& options) {
  if (!options.max_cost_flops && device != DeviceType::cpu) return "";
  const double most = options.max_cost_flops.value_or(kCpuMaxCost), needed = cost(value);
  if (needed <= most) return "";
  return fmt::format("costs {}, more than {}: --max-cost {:.0f}GFLOP runs it", flops_text(needed), flops_text(most), std::ceil(needed / 1e9));
}

TrialSupport support_of(const MeasurementRecord& answer, const std::string& too_costly) {
  const bool able = answer.status == Status::ok || answer.status == Status::cannot_measure;  // memory that is not free now
  if (able && !too_costly.empty()) return {Status::skipped, too_costly, answer.memory.workspace_bytes};
  return {answer.status, answer.reason, answer.memory.workspace_bytes};
}

std::vector<TrialSupport> supports(const std::vector<Trial>& trials, const RunOptions& options, const std::atomic<bool>& interrupted) {
  BackendResolver resolver(options, interrupted);
  std::map<BackendCode, std::unique_ptr<Worker>> workers;
  std::vector<TrialSupport> answers;
  const Target& target = resolver.targets().front();
  for (const Trial& trial : trials) {
    TrialSupport& answer = answers.emplace_back();
    if (!target.fault.empty()) {
      answer = {Status::cannot_measure, target.fault, {}};
      continue;
    }
    const ResolvedBackend backend = resolver.resolve(trial.backend, target.environment.device);
    if (!backend.reason.empty()) {
      answer = {Status::unsupported, backend.reason, {}};
      continue;
    }
    if (const auto& fault = resolver.facts(backend.code).fault) {
      answer = {fault->status, fault->reason, {}};
      continue;
    }
    std::unique_ptr<Worker>& worker = workers[backend.code];
    if (!worker || (!worker->alive() && !worker->fault()))
      worker = resolver.workers().take(backend.code, target.name, {options.timeout, options.prepare_timeout});
    const MeasurementRecord record = worker->fault() ? *worker->fault() : worker->run(support_request(trial, backend.name_in_file), [](Phase) {}).record;
    answer = support_of(record, too_costly(trial.value, target.environment.device, options));
  }
  return answers;
}

}  // namespace attn
