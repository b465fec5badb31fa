#include "cli/baseline_lookup.hpp"

#include <set>

#include "cli/option_values.hpp"
#include "report/printable.hpp"

namespace attn {

void add_baseline_directory(CLI::App& app, std::string& directory) {
  directory = kDefaultBaselines;
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

namespace {

void keep_what_was_not_measured(Baseline& now, const Baseline& before) {
  if (now.device_ns.empty()) {
    now.instrument = before.instrument;
    now.device_ns = before.device_ns;
    now.span_ns = before.span_ns;
    now.host_ns = before.host_ns;
  }
  if (now.counts == Counts{}) {
    now.counts = before.counts;
    now.kernels = before.kernels;
    now.kernel_path = before.kernel_path;
  }
  Memory& memory = now.memory;
  if (!memory.peak_bytes) memory.workspace_bytes = before.memory.workspace_bytes, memory.peak_bytes = before.memory.peak_bytes, memory.source = before.memory.source;
  if (!memory.growth_bytes) memory.growth_bytes = before.memory.growth_bytes;
  if (!memory.prepare_peak_bytes) memory.prepare_peak_bytes = before.memory.prepare_peak_bytes, memory.prepare_source = before.memory.prepare_source;
  if (!now.numerics.max_abs_error) now.numerics = before.numerics;
}

}  // namespace

BaselineUpdate record(const BaselineStore& store, const RunResult& run, const std::vector<const Row*>& rows, const std::string& reason) {
  std::set<std::string> suites;
  for (const Row* row : rows) suites.insert(row->measurement.suite);
  const BaselineLookup lookup(store, {suites.begin(), suites.end()});
  std::vector<Baseline> baselines;
  for (const Row* row : rows) {
    baselines.push_back(baseline_of(run, *row, reason));
    const Baseline* before = lookup.times(row->measurement);
    if (before && row->measurement.status == Status::ok) keep_what_was_not_measured(baselines.back(), *before);
  }
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
