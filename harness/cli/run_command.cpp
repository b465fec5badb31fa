// `attn-regress run`: measures suites, judges them, keeps everything, reports.

#include <memory>

#include "cli/baseline_lookup.hpp"
#include "cli/busy_machine.hpp"
#include "cli/measuring.hpp"
#include "cli/subcommands.hpp"

namespace attn {
namespace {

struct Arguments {
  MeasuringArguments measuring;
  std::string baselines;
  bool update_baseline = false;
};

constexpr const char* kWantsQuiet = "; the times of a baseline want a quiet one";

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

ExitCode run_suites(Arguments arguments) {
  const std::vector<PlannedSuite> planned = planned_suites(arguments.measuring.suites);
  const Rules rules = rules_of(arguments.measuring);
  if (arguments.measuring.dry_run) return show_plan(planned, arguments.measuring.color);

  const BaselineStore baselines(arguments.baselines);
  std::vector<std::string> names;
  for (const PlannedSuite& each : planned) names.push_back(each.suite.name);
  const BaselineLookup lookup(baselines, names);

  RunOptions& options = arguments.measuring.options;
  if (arguments.baselines != kDefaultBaselines) options.baseline_directory = arguments.baselines;
  if (arguments.update_baseline) {
    options.first_blocks = options.most_blocks;  // what others are measured against is worth the time
    if (const std::string busy = busy_machine(); !busy.empty() && options.gates.contains(Gate::latency)) arguments.measuring.warnings.push_back(busy + kWantsQuiet);
  }
  const RunResult result = measure(arguments.measuring, planned, rules, lookup);
  if (arguments.update_baseline && result.exit != ExitCode::interrupted)
    publish([&] {
      const std::vector<const Row*> rows = rows_to_update(result, lookup);
      if (const std::string busy = busy_gpu(rows); !busy.empty()) warn(busy + kWantsQuiet);
      print(stderr, update_text(record(baselines, result, rows)));
    });
  return result.exit;
}

}  // namespace

Subcommand add_run(CLI::App& program) {
  CLI::App* app = program.add_subcommand("run", "Measure suites and judge them");
  auto arguments = std::make_shared<Arguments>();
  add_measuring_arguments(*app, arguments->measuring);
  add_baseline_directory(*app, arguments->baselines);
  app->add_flag("--update-baseline", arguments->update_baseline, "Write rows that are new or improved to the baselines");
  app->add_flag("--require-baseline", arguments->measuring.options.require_baseline, "A row without a baseline cannot be judged (exit 5)");
  return {app, [arguments] { return run_suites(*arguments); }};
}

}  // namespace attn
