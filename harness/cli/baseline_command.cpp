// `attn-regress baseline record|show|diff|accept`: committed files and stored runs held against each other.

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "base/pattern.hpp"
#include "cli/baseline_lookup.hpp"
#include "cli/console.hpp"
#include "cli/database_path.hpp"
#include "cli/option_values.hpp"
#include "cli/subcommands.hpp"
#include "cli/suite_arguments.hpp"
#include "core/units.hpp"
#include "report/grid.hpp"
#include "report/printable.hpp"
#include "store/baseline_difference.hpp"
#include "store/median.hpp"
#include "yaml/nearest.hpp"

namespace attn {
namespace {

struct Arguments {
  std::string suite, directory, database, run_id, reason;
  std::vector<std::string> filters, backends;
  bool exit_code = false;
  ColorChoice color = ColorChoice::automatic;
};

bool is_chosen(const Row& row, const Arguments& arguments, const std::string& suite) {
  if (!suite.empty() && row.measurement.suite != suite) return false;
  const auto& backends = arguments.backends;
  if (!backends.empty() && std::find(backends.begin(), backends.end(), row.measurement.backend) == backends.end()) return false;
  bool wanted = std::all_of(arguments.filters.begin(), arguments.filters.end(), [](const std::string& filter) { return filter.starts_with('-'); });
  for (const std::string& filter : arguments.filters) {
    const bool negates = filter.starts_with('-');
    const bool found = Pattern(filter.substr(negates)).found_in(row.measurement.case_id);
    if (found && negates) return false;
    wanted = wanted || found;
  }
  return wanted;
}

// A result that is right and was judged good: what a baseline may be without anybody's word.
bool is_recordable(const Row& row) {
  return row.measurement.status == Status::ok && exit_code(row.verdict.outcome) == 0 && row.verdict.outcome != Outcome::waived;
}

// What was measured with a side's own settings is nobody's baseline.
RunResult run_for_baselines(const Arguments& arguments, const std::string& suite) {
  RunResult run = stored_run(database_path(arguments.database), arguments.run_id, suite);
  if (run.comparison) throw Error(fmt::format("run {} compared two sides (`attn-regress ab`); baselines are held against runs of `attn-regress run`", run.run_id));
  return run;
}

ExitCode record_run(const Arguments& arguments) {
  const std::string suite = suite_name(arguments.suite);
  const RunResult run = run_for_baselines(arguments, suite);
  std::vector<const Row*> rows;
  std::size_t left_out = 0;
  for (const Row& row : run.rows) {
    if (row.measurement.suite != suite) continue;
    if (is_recordable(row)) rows.push_back(&row);
    else if (row.verdict.outcome != Outcome::skipped && row.verdict.outcome != Outcome::unsupported) ++left_out;
  }
  if (rows.empty()) throw Error(fmt::format("run {} holds no row of suite {} that a baseline could be made of", run.run_id, quote(suite)));
  print(stdout, update_text(record(BaselineStore(arguments.directory), run, rows)));
  if (left_out > 0)
    print(stderr, fmt::format("left out: {} rows that failed or could not be judged; `baseline accept --reason TEXT` takes right results that changed\n",
                              left_out));
  return ExitCode::pass;
}

ExitCode show(const Arguments& arguments) {
  const BaselineStore store(arguments.directory);
  const std::vector<std::string> suites = arguments.suite.empty() ? store.suites() : std::vector{suite_name(arguments.suite)};
  Grid grid({{"backend", false, false, 0}, {"status", false, false, 3}, {"device time", true, false, 0}, {"kernels", true, false, 0},
             {"copies", true, false, 0}, {"path", false, false, 2}, {"recorded", false, false, 4}, {"commit", false, false, 5}, {"accepted", false, true, 1}},
            2);
  bool any = false;
  const auto count = [](const std::optional<CountRange>& range) { return range ? to_string(*range) : "?"; };
  for (const std::string& suite : suites) {
    const SuiteBaselines baselines = store.load(suite);
    std::string group;
    for (const Baseline& row : baselines.rows()) {
      if (const std::string next = fmt::format("{}  {}  {}", suite, row.case_id, row.platform); next != group) grid.heading(group = next);
      const auto device = median(row.device_ns);
      any = true;
      grid.add({{row.backend, Tone::plain}, {std::string(word(row.status)), Tone::plain}, {device ? duration_text(*device) : "?", Tone::plain},
                {count(row.counts.kernels), Tone::plain}, {count(row.counts.copies), Tone::plain},
                {row.kernel_path ? std::string(word(*row.kernel_path)) : "?", Tone::plain}, {row.recorded_at, Tone::dim},
                {row.commit_id.substr(0, 10), Tone::dim}, {row.accepted, Tone::plain}});
    }
  }
  if (!any) throw Error(fmt::format("{}: holds no baseline{}", arguments.directory, arguments.suite.empty() ? "" : " of suite " + quote(suites.front())));
  grid.hide_empty_columns();
  const Canvas canvas = canvas_of(stdout, arguments.color);
  print(stdout, grid.text(canvas.columns, canvas.color));
  return ExitCode::pass;
}

// The baseline that the row is held against. Another platform's tells counts alone, so both sides forget their times.
std::vector<std::string> difference_of(const BaselineLookup& lookup, const RunResult& run, const Row& row) {
  Baseline after = baseline_of(run, row);
  if (const Baseline* same = lookup.times(row.measurement)) return difference(*same, after);
  const Baseline* other = lookup.counts(row.measurement);
  if (!other) return {fmt::format("{} {}: no baseline", row.measurement.case_id, row.measurement.backend)};
  Baseline before = *other;
  for (Baseline* each : {&before, &after}) each->device_ns = each->span_ns = each->host_ns = {};
  return difference(before, after);
}

ExitCode diff(const Arguments& arguments) {
  const std::string suite = arguments.suite.empty() ? "" : suite_name(arguments.suite);
  const RunResult run = run_for_baselines(arguments, suite);
  std::vector<std::string> suites;
  for (const Row& row : run.rows) suites.push_back(row.measurement.suite);
  std::sort(suites.begin(), suites.end());
  suites.erase(std::unique(suites.begin(), suites.end()), suites.end());
  const BaselineLookup lookup(BaselineStore(arguments.directory), suites);

  std::string text;
  for (const Row& row : run.rows) {
    const Status status = row.measurement.status;
    if (!is_chosen(row, arguments, suite) || row.measurement.control || status == Status::skipped) continue;
    if (status == Status::unsupported && !lookup.counts(row.measurement)) continue;
    for (const std::string& line : difference_of(lookup, run, row)) text += (line.starts_with(" ") ? "  " : "") + printable(line) + "\n";
  }
  print(stdout, text.empty() ? fmt::format("run {} and the baselines agree\n", run.run_id) : text);
  return arguments.exit_code && !text.empty() ? ExitCode::gate_failed : ExitCode::pass;
}

// A result that is right but changed. What is wrong, crashed, was not measured or is undecided (noise, or never judged) cannot be accepted.
bool is_acceptable(const Row& row) {
  const Outcome outcome = row.verdict.outcome;
  const bool changed = outcome == Outcome::regressed || outcome == Outcome::improved ||
                       outcome == Outcome::environment_shift || outcome == Outcome::waived || outcome == Outcome::no_baseline;
  return changed && (row.measurement.status == Status::ok || row.measurement.status == Status::unsupported);
}

// The rows of fixed work that accepted times need beside them to be told from the machine's later on: those that the files lack, and all of them where
// somebody accepts that the machine changed.
std::vector<const Row*> controls_beside(const std::vector<const Row*>& accepted, const RunResult& run, const Arguments& arguments) {
  using Place = std::pair<std::string, std::string>;  // suite, platform: a file
  const auto place_of = [](const Row& row) { return Place{row.measurement.suite, row.measurement.platform}; };
  std::set<Place> written, shifted;
  std::set<std::string> suites;
  for (const Row* row : accepted) {
    suites.insert(row->measurement.suite);
    written.insert(place_of(*row));
    if (row->verdict.outcome == Outcome::environment_shift) shifted.insert(place_of(*row));
  }
  const BaselineLookup lookup(BaselineStore(arguments.directory), {suites.begin(), suites.end()});
  std::vector<const Row*> controls;
  for (const Row& row : run.rows) {
    const bool wanted = shifted.contains(place_of(row)) || (written.contains(place_of(row)) && !lookup.times(row.measurement));
    if (row.measurement.control && row.measurement.status == Status::ok && wanted) controls.push_back(&row);
  }
  return controls;
}

ExitCode accept(const Arguments& arguments) {
  const std::string suite = arguments.suite.empty() ? "" : suite_name(arguments.suite);
  const RunResult run = run_for_baselines(arguments, suite);
  std::vector<const Row*> rows, refused;
  for (const Row& row : run.rows) {
    if (row.measurement.control || !is_chosen(row, arguments, suite)) continue;
    if (is_acceptable(row)) rows.push_back(&row);
    else if (exit_code(row.verdict.outcome) != 0) refused.push_back(&row);
  }
  const std::vector<const Row*> controls = controls_beside(rows, run, arguments);
  rows.insert(rows.end(), controls.begin(), controls.end());
  for (const Row* row : refused)
    print(stderr, fmt::format("not accepted: {} {}: {}\n", printable(row->measurement.backend), printable(row->measurement.case_id),
                              word(row->verdict.outcome)));
  if (rows.empty())
    throw Error(fmt::format("run {} holds no row to accept: one whose result is right, but changed or new, and that the options select", run.run_id));
  print(stdout, update_text(record(BaselineStore(arguments.directory), run, rows, arguments.reason)));
  return ExitCode::pass;
}

}  // namespace

Subcommand add_baseline(CLI::App& program) {
  CLI::App* app = program.add_subcommand("baseline", "The committed baselines")->require_subcommand(1);
  auto arguments = std::make_shared<Arguments>();
  auto chosen = std::make_shared<ExitCode (*)(const Arguments&)>(nullptr);
  const auto add = [&](const char* name, ExitCode (*act)(const Arguments&), const char* help) {
    CLI::App* sub = app->add_subcommand(name, help)->allow_extras();
    sub->final_callback([chosen, act] { *chosen = act; });
    add_baseline_directory(*sub, arguments->directory);
    return sub;
  };
  const auto add_run_choice = [&](CLI::App& sub) {
    add_database(sub, arguments->database);
    add_value(sub, "--run", arguments->run_id, parse_text, "ID", "This run instead of the newest");
  };
  const auto add_row_choice = [&](CLI::App& sub) {
    add_values(sub, "--filter", arguments->filters, parse_filter, "REGEX", "Only cases whose id matches; --filter=-REGEX only those that do not; repeatable");
    add_values(sub, "--backend", arguments->backends, parse_text, "NAME", "Only this backend; repeatable");
  };

  CLI::App* record = add("record", record_run, "Write the rows of a run that passed as the baselines");
  record->add_option("SUITE", arguments->suite, "Name or file of the suite")->required();
  add_run_choice(*record);

  CLI::App* shown = add("show", show, "What the baselines say");
  shown->add_option("SUITE", arguments->suite, "Name or file of the suite; default all");
  add_color(*shown, arguments->color);

  CLI::App* compared = add("diff", diff, "What changed between the baselines and a run");
  compared->add_option("SUITE", arguments->suite, "Name or file of the suite; default all of the run");
  add_run_choice(*compared);
  add_row_choice(*compared);
  compared->add_flag("--exit-code", arguments->exit_code, "Exit 1 when something differs");

  CLI::App* accepted = add("accept", accept, "Write rows of a run whose result is right but changed, with the reason");
  accepted->add_option("SUITE", arguments->suite, "Name or file of the suite; default all of the run");
  add_value(*accepted, "--reason", arguments->reason, parse_text, "TEXT", "Why the change is accepted; kept in the baseline")->required();
  add_run_choice(*accepted);
  add_row_choice(*accepted);

  return {app, [arguments, chosen] { return (*chosen)(*arguments); }};
}

}  // namespace attn
