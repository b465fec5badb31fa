#include "report/row_values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

std::string rows_text(std::size_t count) { return fmt::format("{} row{}", count, count == 1 ? "" : "s"); }

double latency_change(const Row& row) {
  double change = 0;
  for (const Finding& finding : row.verdict.findings)
    if (finding.gate == Gate::latency && finding.ratio) change = std::max(change, *finding.ratio);
  return change;
}

std::string why_not_judged(const RunResult& run) {
  const auto counts = outcome_counts(run);
  std::string reasons;
  for (const auto& [outcome, count] : counts)
    if (exit_code(outcome) == 5) reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", rows_text(count), word(outcome));
  if (!reasons.empty()) return reasons;
  for (const Row& row : run.rows)
    if (row.measurement.control && exit_code(row.verdict.outcome) == 5) return "a control row could not be measured";
  if (const auto missing = counts.find(Outcome::no_baseline); missing != counts.end())
    return rows_text(missing->second) + (run.comparison ? " with nothing on side a to be held against" : " without a baseline, which was required");
  return counts.empty() ? "nothing matched, so nothing was judged" : "every row was skipped or unsupported, so nothing was judged";
}

}  // namespace

std::optional<double> median_time(const Measurement& measurement, std::optional<double> Block::*metric) {
  std::vector<double> values = times(measurement.blocks, metric);
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::optional<double> device_ratio(const Row& row) {
  const auto now = median_time(row.measurement, &Block::device_ns);
  if (!now || !row.baseline_device_ns || *row.baseline_device_ns <= 0) return std::nullopt;
  return *now / *row.baseline_device_ns;
}

std::optional<double> notable_host_ns(const Measurement& measurement) {
  const auto host = median_time(measurement, &Block::host_ns), device = median_time(measurement, &Block::device_ns);
  if (measurement.device == DeviceType::cpu || !host || (device && *host < *device / 2)) return std::nullopt;
  return host;
}

int severity(Outcome outcome) {
  switch (outcome) {
    case Outcome::wrong: return 0;
    case Outcome::crashed: return 1;
    case Outcome::failed: return 2;
    case Outcome::timed_out: return 3;
    case Outcome::regressed: return 4;
    case Outcome::cannot_measure: return 5;
    case Outcome::undecided: return 6;
    case Outcome::environment_shift: return 7;
    case Outcome::waived: return 8;
    default: return 9;
  }
}

std::vector<const Row*> notable_rows(const RunResult& run) {
  std::vector<const Row*> rows;
  for (const Row& row : run.rows)
    if (severity(row.verdict.outcome) < severity(Outcome::pass)) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) {
    if ((a->trial.side == Side::a) != (b->trial.side == Side::a)) return b->trial.side == Side::a;
    const int first = severity(a->verdict.outcome), second = severity(b->verdict.outcome);
    return first != second ? first < second : latency_change(*a) > latency_change(*b);
  });
  return rows;
}

std::map<Outcome, std::size_t> outcome_counts(const RunResult& run) {
  std::map<Outcome, std::size_t> counts;
  for (const Row& row : run.rows)
    if (is_judged(row)) ++counts[row.verdict.outcome];
  return counts;
}

bool is_judged(const Row& row) { return !row.measurement.control && row.trial.side != Side::a; }

std::string side_text(const Trial& trial) { return trial.side ? fmt::format(" on side {}", word(*trial.side)) : ""; }

std::string exit_meaning(const RunResult& run) {
  const auto text = [&](std::string_view meaning) { return fmt::format("exit {}: {}", static_cast<int>(run.exit), meaning); };
  switch (run.exit) {
    case ExitCode::pass: {
      const auto counts = outcome_counts(run);
      const auto missing = counts.find(Outcome::no_baseline);
      return text(missing == counts.end() ? "pass" : "pass; " + rows_text(missing->second) + " had no baseline to be held against");
    }
    case ExitCode::gate_failed: {
      std::size_t failed = 0;
      for (const auto& [outcome, count] : outcome_counts(run)) failed += exit_code(outcome) == 1 ? count : 0;
      return text("failed in " + rows_text(failed));
    }
    case ExitCode::interrupted: return text("interrupted; what was measured is kept");
    case ExitCode::internal_error: return text("internal error");
    case ExitCode::usage_error: return text("the run could not be stored as a whole");
    case ExitCode::cannot_judge: return text("cannot judge: " + why_not_judged(run));
  }
  return text("unknown");
}

std::string place_text(const Trial& trial, int line) {
  if (trial.place.file.empty()) return "";
  const int at = line > 0 ? line : trial.place.line;
  return at > 0 ? fmt::format("{}:{}", trial.place.file, at) : trial.place.file;
}

}  // namespace attn
