#include "cli/measuring.hpp"

#include "cli/commit.hpp"
#include "cli/database_path.hpp"
#include "cli/interrupt.hpp"
#include "cli/observers.hpp"
#include "cli/option_values.hpp"
#include "cli/output_file.hpp"
#include "core/units.hpp"
#include "report/grid.hpp"
#include "report/json.hpp"
#include "report/printable.hpp"
#include "report/progress.hpp"
#include "report/table.hpp"
#include "store/run_recorder.hpp"

namespace attn {

void add_measuring_arguments(CLI::App& app, MeasuringArguments& arguments) {
  RunOptions& options = arguments.options;
  add_suite_arguments(app, arguments.suites);
  add_value(app, "--gates", options.gates, parse_gates, "LIST", "Only these of " + all_words<Gate>());
  add_database(app, arguments.database);
  add_value(app, "--rules", arguments.rules, parse_text, "FILE", "More rules that class kernels, before the shipped ones");
  add_value(app, "--json", arguments.json, parse_text, "FILE|-", "Write the result as JSON; with - the table goes to standard error");
  add_value(app, "--seed", options.seed, parse_seed, "N", "Of the inputs; default 1");
  add_value(app, "--budget", options.budget, parse_duration, "10m", "Skip what is left after this time");
  add_value(app, "--timeout", options.timeout, parse_duration, "60s", "Of one phase of a row");
  add_value(app, "--prepare-timeout", options.prepare_timeout, parse_duration, "10m", "Of loading and preparing a backend");
  app.add_option("--commit", arguments.commit, "The commit that is measured; default git's HEAD")->type_name("ID");
  app.add_flag("--dry-run", arguments.dry_run, "Show the plan and end");
  add_color(app, arguments.color);
}

ExitCode show_plan(const std::vector<PlannedSuite>& planned, ColorChoice color) {
  Grid grid({{"#", true, false, 0}, {"suite", false, false, 2}, {"backend", false, false, 0}, {"case", false, false, 0}, {"work", true, false, 1}});
  std::size_t count = 0;
  for (const PlannedSuite& each : planned)
    for (const Trial& trial : each.trials) {
      ++count;
      grid.add({{std::to_string(trial.index + 1), Tone::plain}, {trial.suite, Tone::plain}, {trial.backend.name, Tone::plain}, {trial.id, Tone::plain},
                {flops_text(flops(trial.value)), Tone::plain}});
    }
  const Canvas canvas = canvas_of(stdout, color);
  print(stdout, count > 0 ? grid.text(canvas.columns, canvas.color) : "nothing matches\n");
  return count > 0 ? ExitCode::pass : ExitCode::cannot_judge;
}

void warn(const std::string& warning) { print(stderr, fmt::format("warning: {}\n", printable(warning))); }

void publish(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    print(stderr, fmt::format("attn-regress: the verdict stands, but: {}\n", printable(error.what())));
  }
}

namespace {

// `rows_kept`: empty = the run is kept as a whole.
void report(const RunResult& result, std::optional<std::size_t> rows_kept, const MeasuringArguments& arguments, OutputFile& json) {
  std::FILE* stream = json.is_stdout() ? stderr : stdout;
  const Canvas canvas = canvas_of(stream, arguments.color);
  print(stream, table(result, {canvas.columns, canvas.color, database_path(arguments.database), rows_kept}));
  publish([&] { json.write(run_json(result).dump(1, ' ', false, Json::error_handler_t::replace) + "\n"); });
}

}  // namespace

Rules rules_of(const MeasuringArguments& arguments) { return arguments.rules.empty() ? default_rules() : load_rules(arguments.rules); }

RunResult measure(MeasuringArguments& arguments, const std::vector<PlannedSuite>& planned, const Rules& rules, const BaselineSource& baselines) {
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

  const std::atomic<bool>& interrupted = watch_interrupts();
  RunResult head = new_run(options);
  head.warnings = arguments.warnings;
  for (const std::string& warning : head.warnings) warn(warning);
  History history(database_path(arguments.database));
  RunRecorder recorder(history, head);
  Progress progress(stderr, {can_rewrite(fileno(stderr), std::getenv), canvas_of(stderr, arguments.color).columns});
  Observers observers({&recorder, &progress});
  RunResult result = run(std::move(head), planned, options, rules, baselines, observers, interrupted);
  if (const std::string& fault = recorder.fault(); !fault.empty()) {  // the verdicts stand all the same
    result.warnings.push_back(fmt::format("the run is not stored as a whole: {}", fault));
    if (result.exit != ExitCode::gate_failed && result.exit != ExitCode::interrupted) result.exit = ExitCode::usage_error;
  }
  report(result, recorder.fault().empty() ? std::nullopt : std::optional(recorder.rows_kept()), arguments, json);
  return result;
}

}  // namespace attn
