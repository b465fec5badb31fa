// `attn-regress run`: measures suites, judges them, keeps everything, reports.

#include <functional>
#include <memory>
#include <optional>

#include "cli/baseline_lookup.hpp"
#include "cli/commit.hpp"
#include "cli/console.hpp"
#include "cli/database_path.hpp"
#include "cli/interrupt.hpp"
#include "cli/observers.hpp"
#include "cli/option_values.hpp"
#include "cli/output_file.hpp"
#include "cli/subcommands.hpp"
#include "cli/suite_arguments.hpp"
#include "core/units.hpp"
#include "report/grid.hpp"
#include "report/json.hpp"
#include "report/printable.hpp"
#include "report/progress.hpp"
#include "report/table.hpp"
#include "store/run_recorder.hpp"

namespace attn {
namespace {

struct Arguments {
  SuiteArguments suites;
  RunOptions options;
  std::string database, baselines, rules, json;
  std::optional<std::string> commit;
  bool update_baseline = false, dry_run = false;
  ColorChoice color = ColorChoice::automatic;
};

ExitCode show_plan(const std::vector<PlannedSuite>& planned, const Canvas& canvas) {
  Grid grid({{"#", true, false, 0}, {"suite", false, false, 2}, {"backend", false, false, 0}, {"case", false, false, 0}, {"work", true, false, 1}});
  std::size_t count = 0;
  for (const PlannedSuite& each : planned)
    for (const Trial& trial : each.trials) {
      ++count;
      grid.add({{std::to_string(trial.index + 1), Tone::plain}, {trial.suite, Tone::plain}, {trial.backend.name, Tone::plain}, {trial.id, Tone::plain},
                {flops_text(flops(trial.value)), Tone::plain}});
    }
  print(stdout, count > 0 ? grid.text(canvas.columns, canvas.color) : "nothing matches\n");
  return count > 0 ? ExitCode::pass : ExitCode::cannot_judge;
}

// New rows, improved ones, and those that passed by counts alone because this platform's baseline has no time. A row that passed keeps its baseline, or a slow
// creep would carry it along; one that failed needs `baseline accept`.
std::vector<const Row*> rows_to_update(const RunResult& run, const BaselineLookup& lookup) {
  std::vector<const Row*> rows;
  for (const Row& row : run.rows) {
    const Outcome outcome = row.verdict.outcome;
    const Baseline* baseline = lookup.times(row.measurement);
    const bool lacks_time = !baseline || (baseline->device_ns.empty() && !times(row.measurement.blocks, &Block::device_ns).empty());
    const bool takes = outcome == Outcome::no_baseline || outcome == Outcome::improved || (outcome == Outcome::pass && lacks_time);
    if (row.measurement.status == Status::ok && takes) rows.push_back(&row);
  }
  return rows;
}

// Publishing never changes the exit code: what cannot be written is said, and the verdict stands.
void publish(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    print(stderr, fmt::format("attn-regress: the verdict stands, but: {}\n", printable(error.what())));
  }
}

// `rows_kept`: empty = the run is kept as a whole.
void report(const RunResult& result, std::optional<std::size_t> rows_kept, const Arguments& arguments, OutputFile& json) {
  std::FILE* stream = json.is_stdout() ? stderr : stdout;
  const Canvas canvas = canvas_of(stream, arguments.color);
  print(stream, table(result, {canvas.columns, canvas.color, database_path(arguments.database), rows_kept}));
  publish([&] { json.write(run_json(result).dump(1, ' ', false, Json::error_handler_t::replace) + "\n"); });
}

ExitCode run_suites(Arguments arguments) {
  const std::vector<PlannedSuite> planned = planned_suites(arguments.suites);
  const Rules rules = arguments.rules.empty() ? default_rules() : load_rules(arguments.rules);
  if (arguments.dry_run) return show_plan(planned, canvas_of(stdout, arguments.color));

  const BaselineStore baselines(arguments.baselines);
  std::vector<std::string> names;
  for (const PlannedSuite& each : planned) names.push_back(each.suite.name);
  const BaselineLookup lookup(baselines, names);
  OutputFile json(arguments.json);

  RunOptions& options = arguments.options;
  options.installation = this_installation();
  options.plugins = arguments.suites.plugins;
  options.python = arguments.suites.python;
  options.device = arguments.suites.device;
  options.max_cost_flops = arguments.suites.max_cost_flops;
  options.commit_id = arguments.commit ? *arguments.commit : current_commit();
  options.command = command_line();
  options.rules_file = arguments.rules;
  if (arguments.baselines != kDefaultBaselines) options.baseline_directory = arguments.baselines;
  if (arguments.update_baseline) options.first_blocks = options.most_blocks;  // what others are measured against is worth the time

  const std::atomic<bool>& interrupted = watch_interrupts();
  RunResult head = new_run(options);
  History history(database_path(arguments.database));
  RunRecorder recorder(history, head);
  Progress progress(stderr, {can_rewrite(fileno(stderr), std::getenv), canvas_of(stderr, arguments.color).columns});
  Observers observers({&recorder, &progress});
  RunResult result = run(std::move(head), planned, options, rules, lookup, observers, interrupted);
  if (const std::string& fault = recorder.fault(); !fault.empty()) {  // the verdicts stand all the same
    result.warnings.push_back(fmt::format("the run is not stored as a whole: {}", fault));
    if (result.exit != ExitCode::gate_failed && result.exit != ExitCode::interrupted) result.exit = ExitCode::usage_error;
  }

  report(result, recorder.fault().empty() ? std::nullopt : std::optional(recorder.rows_kept()), arguments, json);
  if (arguments.update_baseline && result.exit != ExitCode::interrupted)
    publish([&] { print(stderr, update_text(record(baselines, result, rows_to_update(result, lookup)))); });
  return result.exit;
}

}  // namespace

Subcommand add_run(CLI::App& program) {
  CLI::App* app = program.add_subcommand("run", "Measure suites and judge them");
  auto arguments = std::make_shared<Arguments>();
  RunOptions& options = arguments->options;
  add_suite_arguments(*app, arguments->suites);
  add_value(*app, "--gates", options.gates, parse_gates, "LIST", "Only these of " + all_words<Gate>());
  add_database(*app, arguments->database);
  add_baseline_directory(*app, arguments->baselines);
  app->add_flag("--update-baseline", arguments->update_baseline, "Write rows that are new or improved to the baselines");
  app->add_flag("--require-baseline", options.require_baseline, "A row without a baseline cannot be judged (exit 5)");
  add_value(*app, "--rules", arguments->rules, parse_text, "FILE", "More rules that class kernels, before the shipped ones");
  add_value(*app, "--json", arguments->json, parse_text, "FILE|-", "Write the result as JSON; with - the table goes to standard error");
  add_value(*app, "--seed", options.seed, parse_seed, "N", "Of the inputs; default 1");
  add_value(*app, "--budget", options.budget, parse_duration, "10m", "Skip what is left after this time");
  add_value(*app, "--timeout", options.timeout, parse_duration, "60s", "Of one phase of a row");
  add_value(*app, "--prepare-timeout", options.prepare_timeout, parse_duration, "10m", "Of loading and preparing a backend");
  app->add_option("--commit", arguments->commit, "The commit that is measured; default git's HEAD")->type_name("ID");
  app->add_flag("--dry-run", arguments->dry_run, "Show the plan and end");
  add_color(*app, arguments->color);
  return {app, [arguments] { return run_suites(*arguments); }};
}

}  // namespace attn
