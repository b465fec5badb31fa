#include "cli/baseline_lookup.hpp"

#include "cli/option_values.hpp"
#include "report/printable.hpp"

namespace attn {

void add_baseline_directory(CLI::App& app, std::string& directory) {
  directory = "baselines";
  add_value(app, "--baseline", directory, parse_text, "DIR", "Folder of the committed baselines; default baselines");
}

BaselineLookup::BaselineLookup(const BaselineStore& store, const std::vector<std::string>& suites) {
  for (const std::string& suite : suites) suites_.emplace(suite, store.load(suite));
}

const Baseline* BaselineLookup::counts(const Measurement& m) const {
  const auto suite = suites_.find(m.suite);
  return suite == suites_.end() ? nullptr : suite->second.find_counts(m.case_id, m.backend, m.device, m.arch, m.platform);
}

const Baseline* BaselineLookup::times(const Measurement& m) const {
  const auto suite = suites_.find(m.suite);
  return suite == suites_.end() ? nullptr : suite->second.find_times(m.case_id, m.backend, m.device, m.platform);
}

Baseline baseline_of(const RunResult& run, const Row& row, const std::string& reason) {
  Baseline baseline = make_baseline(row.measurement, run.environments.at(row.environment), run.commit_id, run.started_at);
  baseline.accepted = reason;
  return baseline;
}

BaselineUpdate record(const BaselineStore& store, const RunResult& run, const std::vector<const Row*>& rows, const std::string& reason) {
  std::vector<Baseline> baselines;
  for (const Row* row : rows) baselines.push_back(baseline_of(run, *row, reason));
  return store.update(baselines, run.environments);
}

std::string update_text(const BaselineUpdate& update) {
  std::string text;
  for (const std::string& line : update.lines) text += "  " + printable(line) + "\n";
  text += fmt::format("baselines: {} added, {} changed, {} unchanged\n", update.added, update.changed, update.unchanged);
  for (const auto& file : update.written) text += fmt::format("written {}\n", printable(file.string()));
  return text;
}

}  // namespace attn
