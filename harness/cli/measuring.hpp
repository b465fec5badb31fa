#pragma once
// What `run` and `ab` share: the options of measuring, and a run with its database, progress and reports.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "cli/subcommand.hpp"
#include "cli/suite_arguments.hpp"
#include "run/run.hpp"

namespace attn {

struct MeasuringArguments {
  SuiteArguments suites;
  RunOptions options;
  std::string database, rules, json;
  std::optional<std::string> commit;
  std::vector<std::string> warnings;  // told before anything is measured, and kept with the run
  bool dry_run = false;
  ColorChoice color = ColorChoice::automatic;
};

void add_measuring_arguments(CLI::App& app, MeasuringArguments& arguments);

// `--dry-run`: prints what would run.
ExitCode show_plan(const std::vector<PlannedSuite>& planned, ColorChoice color);

// The shipped rules, or those of `--rules` before them.
Rules rules_of(const MeasuringArguments& arguments);

// Measures, keeps and reports; the result's exit code is the program's. Throws Error when it cannot begin.
RunResult measure(MeasuringArguments& arguments, const std::vector<PlannedSuite>& planned, const Rules& rules, const BaselineSource& baselines);

// One line on standard error.
void warn(const std::string& warning);

// Publishing never changes the exit code: what cannot be written is said, and the verdict stands.
void publish(const std::function<void()>& body);

}  // namespace attn
