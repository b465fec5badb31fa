// `attn-regress history`: the runs of the database, or the series of a case.

#include <cmath>
#include <memory>

#include "cli/console.hpp"
#include "cli/database_path.hpp"
#include "cli/option_values.hpp"
#include "cli/subcommands.hpp"
#include "core/units.hpp"
#include "report/grid.hpp"
#include "store/history.hpp"
#include "store/query.hpp"

namespace attn {
namespace {

struct HistoryOptions {
  std::string database, suite, case_id, backend;
  std::int64_t limit = 20;
  ColorChoice color = ColorChoice::automatic;
};

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

std::string verdicts_text(const RunSummary& run) {
  std::string text;
  for (const auto& [outcome, count] : run.verdicts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word(outcome));
  if (run.unjudged > 0) text += fmt::format("{}{} not judged", text.empty() ? "" : ", ", run.unjudged);
  return text;
}

std::string sides_text(const Comparison& comparison) {
  const auto side = [](const std::vector<std::string>& settings) { return settings.empty() ? "as it stands" : fmt::format("{}", fmt::join(settings, " ")); };
  return fmt::format("a {}, b {}", side(comparison.a), side(comparison.b));
}

ExitCode show_runs(const HistoryOptions& options) {
  RunFilter filter;
  filter.suite = options.suite;
  filter.limit = options.limit;
  History history = History::open_existing(database_path(options.database));
  Grid grid({{"run", false, false, 0}, {"started", false, false, 0}, {"suites", false, true, 1}, {"platform", false, false, 3}, {"commit", false, false, 2},
             {"exit", true, false, 0}, {"rows", true, false, 0}, {"verdicts", false, true, 0}, {"sides", false, true, 4}});
  for (const RunSummary& run : history.runs(filter))
    grid.add({{run.run_id, Tone::plain}, {run.started_at, Tone::plain}, {joined(run.suites), Tone::plain}, {joined(run.platforms), Tone::dim},
              {run.commit_id.substr(0, 10), Tone::plain}, {run.exit ? std::to_string(*run.exit) : "unfinished", run.exit == 0 ? Tone::good : Tone::warning},
              {std::to_string(run.measurements), Tone::plain}, {verdicts_text(run), Tone::plain}, {run.comparison ? sides_text(*run.comparison) : "", Tone::dim}});
  grid.hide_empty_columns();
  const Canvas canvas = canvas_of(stdout, options.color);
  print(stdout, grid.text(canvas.columns, canvas.color));
  return ExitCode::pass;
}

// The newest values of the cases whose id holds the text, oldest first; one line a run, case and backend.
constexpr const char* kSeries = R"sql(
SELECT * FROM (
  SELECT started_at, run_id, commit_id, case_id, backend, platform,
         max(CASE WHEN metric = 'device_ns' THEN value END) AS device_ns,
         max(CASE WHEN metric = 'device_ns' THEN low END) AS low,
         max(CASE WHEN metric = 'device_ns' THEN high END) AS high,
         max(CASE WHEN metric = 'kernels' THEN value END) AS kernels,
         max(CASE WHEN metric = 'copies' THEN value END) AS copies,
         max(CASE WHEN metric = 'peak_bytes' THEN value END) AS peak_bytes,
         max(CASE WHEN metric = 'max_abs_error' THEN value END) AS max_abs_error
  FROM v_series
  WHERE instr(case_id, ?1) > 0 AND (?2 = '' OR backend = ?2) AND (?3 = '' OR suite = ?3)
  GROUP BY run_id, suite, case_id, backend, device, platform
  ORDER BY started_at DESC LIMIT ?4
) ORDER BY case_id, backend, platform, started_at
)sql";

std::optional<double> number(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  if (const auto* value = std::get_if<double>(&cell)) return *value;
  return std::nullopt;
}

std::string text(const Cell& cell) {
  const auto* value = std::get_if<std::string>(&cell);
  return value ? *value : "";
}

template <class Print>
GridCell cell_of(const Cell& cell, Print print_number) {
  const auto value = number(cell);
  return {value ? print_number(*value) : "?", Tone::plain};
}

ExitCode show_series(const HistoryOptions& options) {
  const QueryResult result = query(database_path(options.database), kSeries, {options.case_id, options.backend, options.suite, options.limit});
  Grid grid({{"started", false, false, 0}, {"commit", false, false, 0}, {"device time", true, false, 0}, {"low", true, false, 3}, {"high", true, false, 3},
             {"vs before", true, false, 0}, {"kernels", true, false, 0}, {"copies", true, false, 0}, {"peak", true, false, 1}, {"max error", true, false, 2},
             {"run", false, false, 4}}, 2);
  std::string group;
  double before = 0;  // device time of the line above; 0 = unknown
  for (const auto& row : result.rows) {
    if (const std::string next = text(row[3]) + "  " + text(row[4]) + "  " + text(row[5]); next != group) {
      grid.heading(group = next);
      before = 0;
    }
    const auto device = number(row[6]);
    const auto whole = [](double value) { return fmt::format("{:.0f}", value); };
    grid.add({{text(row[0]), Tone::plain}, {text(row[2]).substr(0, 10), Tone::plain}, cell_of(row[6], duration_text), cell_of(row[7], duration_text),
              cell_of(row[8], duration_text), {device && before > 0 ? change_text(*device / before) : "", Tone::plain}, cell_of(row[9], whole),
              cell_of(row[10], whole), cell_of(row[11], bytes_text), cell_of(row[12], error_text), {text(row[1]), Tone::dim}});
    before = device.value_or(before);
  }
  const Canvas canvas = canvas_of(stdout, options.color);
  if (result.rows.empty()) throw Error(fmt::format("{}: no measurement of a case whose id holds \"{}\"", database_path(options.database), options.case_id));
  print(stdout, grid.text(canvas.columns, canvas.color));
  return ExitCode::pass;
}

}  // namespace


Subcommand add_history(CLI::App& program) {
  CLI::App* app = program.add_subcommand("history", "The runs of the database; with --case the series of a case");
  auto options = std::make_shared<HistoryOptions>();
  add_value(*app, "--suite", options->suite, parse_text, "NAME", "Only this suite");
  add_value(*app, "--case", options->case_id, parse_text, "TEXT", "The values of every case whose id holds TEXT, oldest first");
  CLI::Option* backend = add_value(*app, "--backend", options->backend, parse_text, "NAME", "Only this backend; with --case");
  backend->needs(app->get_option("--case"));
  add_value(*app, "--limit", options->limit, parse_positive, "N", "The newest N; default 20");
  add_database(*app, options->database);
  add_color(*app, options->color);
  return {app, [options] { return options->case_id.empty() ? show_runs(*options) : show_series(*options); }};
}

}  // namespace attn
