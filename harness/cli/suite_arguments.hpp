#pragma once
// SUITE... and what chooses among its rows: the options that `run` and `list` share.

#include <string>
#include <vector>

#include "cli/subcommand.hpp"
#include "run/run.hpp"
#include "suite/plan.hpp"

namespace attn {

struct SuiteArguments {
  std::vector<std::string> suites;  // files
  Selection selection;
  std::vector<PluginOverride> plugins;
  std::string python;
  std::string device = RunOptions{}.device;
  std::optional<double> max_cost_flops;
};

void add_suite_arguments(CLI::App& app, SuiteArguments& arguments);

// Reads and plans. Throws Error for a suite that is wrong, and for a `--plugin` whose name no suite lists.
std::vector<PlannedSuite> planned_suites(const SuiteArguments& arguments);

// Throws Error, in which `option` is named, for a plugin whose name no suite lists, and for a Python file of which no class is known.
void check_plugins(const std::string& option, const std::vector<PlannedSuite>& planned, const std::vector<PluginOverride>& plugins);

// The name of a suite that is given by its name or its file.
std::string suite_name(const std::string& name_or_file);

// A filter's expression, with a leading '-' or without; throws Error when it is none.
std::string parse_filter(const std::string& text);

}  // namespace attn
