#pragma once
// Runs to report on, built from values.

#include "core/run_result.hpp"

namespace attn::sample {

inline const char* kPrefill = "llama3-8b/prefill:bf16/b4/h32.8/q4096.k4096/d128/causal/bshd";

inline Row row(const std::string& backend, Outcome outcome, Status status = Status::ok, const std::string& id = kPrefill) {
  Row row;
  row.trial.suite = row.measurement.suite = "llama";
  row.trial.id = row.measurement.case_id = id;
  row.trial.value = parse_case_id(id);
  row.trial.backend.name = row.measurement.backend = backend;
  row.trial.place = {"suites/llama.yaml", 5, 5};
  row.measurement.arch = "cpu.x86_64";
  row.measurement.platform = "cpu.test.2t";
  row.measurement.status = status;
  row.verdict.outcome = outcome;
  row.reproduce = "attn-regress run suites/llama.yaml --backend " + backend;
  if (status == Status::ok || status == Status::wrong) {
    row.measurement.kernel_path = KernelPath::naive;
    row.measurement.counts = {CountRange{5, 5}, CountRange{1, 1}, CountRange{268435456, 268435456}, CountRange{0, 0}};
    row.measurement.numerics.max_abs_error = 0.0012;
    for (const double device : {3.3e6, 3.1e6, 3.2e6}) {
      Block block;
      block.calls = 20;
      block.device_ns = device;
      row.measurement.blocks.push_back(block);
    }
  }
  return row;
}

inline Finding latency(double ratio) {
  Finding finding;
  finding.gate = Gate::latency;
  finding.metric = "device_ns";
  finding.message = "slower";
  finding.ratio = ratio;
  return finding;
}

inline RunResult run(std::vector<Row> rows, ExitCode exit = ExitCode::pass) {
  RunResult run;
  run.run_id = "20250102T030405-ab12cd";
  run.started_at = "2025-01-02T03:04:05Z";
  run.finished_at = "2025-01-02T03:05:05Z";
  run.environments.emplace_back();
  run.rows = std::move(rows);
  run.exit = exit;
  return run;
}

}  // namespace attn::sample
