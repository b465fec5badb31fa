#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "report/findings.hpp"
#include "report/grid.hpp"
#include "report/printable.hpp"
#include "report/row_values.hpp"
#include "core/units.hpp"

// How to read a cell: "?" = it ran, but this could not be counted; empty = not measured. A column of which nothing is known is left out: where that is a
// lack, the gates not judged tell it.

namespace attn {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::string_view kUnknown = "?";

std::vector<GridColumn> columns(bool compares) {
  return {{"backend", false, false, 0}, {"side", false, false, 0}, {"verdict", false, false, 0}, {"device time", true, false, 0}, {compares ? "vs a" : "vs base", true, false, 0},
          {"host time", true, false, 4}, {"kernels", true, false, 0}, {"copies", false, false, 0},     {"path", false, false, 3},
          {"max error", true, false, 2}, {"reason", false, true, 1, true}};
}

std::string count_text(const std::optional<CountRange>& count) { return count ? to_string(*count) : std::string(kUnknown); }

// A copy kernel's record tells no size, so beside one the memcpys' bytes are a lower bound.
std::string copies_text(const Measurement& m) {
  std::string text = count_text(m.counts.copies);
  if (!m.counts.copy_bytes || m.counts.copy_bytes->high == 0) return text;
  const bool all = std::ranges::none_of(m.kernels, [](const KernelRow& row) { return row.activity_class == ActivityClass::copy && !row.bytes; });
  return text + fmt::format(" ({}{})", all ? "" : ">= ", bytes_text(static_cast<double>(m.counts.copy_bytes->high)));
}

std::vector<GridCell> cells(const Row& row) {
  const Measurement& m = row.measurement;
  const bool ran = m.status == Status::ok || m.status == Status::wrong;
  const auto device = median_time(m, &Block::device_ns);
  const auto ratio = device_ratio(row);
  const auto host = notable_host_ns(m);
  return {{m.backend, Tone::plain},
          {row.trial.side ? std::string(word(*row.trial.side)) : "", Tone::plain},
          {std::string(word(row.verdict.outcome)), tone_of(row.verdict.outcome)},
          {device ? duration_text(*device) : "", Tone::plain},
          {ratio ? change_text(*ratio) : "", Tone::plain},
          {host ? duration_text(*host) : "", Tone::plain},
          {ran ? count_text(m.counts.kernels) : "", Tone::plain},
          {ran ? copies_text(m) : "", Tone::plain},
          {m.kernel_path ? std::string(word(*m.kernel_path)) : std::string(ran ? kUnknown : ""), Tone::plain},
          {m.numerics.max_abs_error ? error_text(*m.numerics.max_abs_error) : "", Tone::plain},
          {row.verdict.reason.empty() ? m.reason : row.verdict.reason, Tone::dim}};
}

std::string group_title(const Row& row, bool many_suites) {
  const std::string id = row.trial.id.empty() ? row.measurement.case_id : row.trial.id;
  return many_suites ? row.measurement.suite + "  " + id : id;
}

bool has_many_suites(const RunResult& run) {
  for (const Row& row : run.rows)
    if (row.measurement.suite != run.rows.front().measurement.suite) return true;
  return false;
}

std::string rows_of(const RunResult& run, bool control, const TableOptions& options) {
  Grid grid(columns(run.comparison.has_value()), kIndent);
  const bool many_suites = has_many_suites(run);
  std::string title;
  bool any = false;
  for (const Row& row : run.rows) {
    if (row.measurement.control != control) continue;
    any = true;
    if (const std::string next = group_title(row, many_suites); !control && next != title) grid.heading(title = next);
    grid.add(cells(row));
  }
  grid.hide_empty_columns(kUnknown);
  return any ? grid.text(options.columns, options.color) : "";
}

std::string counts_text(const std::map<Outcome, std::size_t>& outcomes, bool color) {
  std::string counts;
  for (const auto& [outcome, count] : outcomes)
    counts += fmt::format("{}{}", counts.empty() ? "" : ", ", paint(fmt::format("{} {}", count, word(outcome)), tone_of(outcome), color));
  return counts.empty() ? "no rows" : counts;
}

std::string settings_text(const std::vector<std::string>& settings) {
  return settings.empty() ? "as it stands" : printable(fmt::format("{}", fmt::join(settings, "  ")));
}

// What was compared comes before everything, and the proof that there was something to compare.
std::string sides_text(const Comparison& comparison, bool color) {
  std::string text = fmt::format("{}\n  a  {}\n  b  {}\n", paint("sides (b is held against a)", Tone::strong, color), settings_text(comparison.a), settings_text(comparison.b));
  for (const std::string& difference : comparison.differences) text += fmt::format("  {}\n", printable(difference));
  if (comparison.differences.empty()) text += paint("  NOTHING DIFFERS BETWEEN THEM\n", Tone::bad, color);
  return text + "\n";
}

std::string summary(const RunResult& run, const TableOptions& options) {
  std::string text = counts_text(outcome_counts(run), options.color) + "\n";
  if (run.comparison) {
    std::map<Outcome, std::size_t> others;
    for (const Row& row : run.rows)
      if (row.trial.side == Side::a) ++others[row.verdict.outcome];
    text += fmt::format("side a, by itself: {}\n", counts_text(others, options.color));
  }
  if (!options.database.empty()) {
    const std::string part = options.rows_kept ? fmt::format("{} of {} rows of ", *options.rows_kept, run.rows.size()) : "";
    text += fmt::format("{}run {} kept in {}\n", part, printable(run.run_id), printable(options.database));
  }
  const Tone tone = run.exit == ExitCode::pass ? Tone::good : run.exit == ExitCode::gate_failed ? Tone::bad : Tone::warning;
  return text + paint(exit_meaning(run), tone, options.color) + "\n";
}

}  // namespace

std::string table(const RunResult& run, const TableOptions& options) {
  std::string text = run.comparison ? sides_text(*run.comparison, options.color) : "";
  text += rows_of(run, false, options);
  if (const std::string control = rows_of(run, true, options); !control.empty())
    text += fmt::format("\n{}\n{}", paint("control rows (fixed work: how the machine was)", Tone::strong, options.color), control);
  return fmt::format("{}{}\n{}", text, findings(run, options), summary(run, options));
}

}  // namespace attn
