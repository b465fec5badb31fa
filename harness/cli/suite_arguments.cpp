#include "cli/suite_arguments.hpp"

#include <algorithm>
#include <filesystem>

#include "base/pattern.hpp"
#include "cli/option_values.hpp"
#include "suite/read_suite.hpp"
#include "yaml/nearest.hpp"

namespace attn {
namespace {

bool has_class(const std::vector<PlannedSuite>& planned, const std::string& backend) {
  for (const PlannedSuite& each : planned)
    for (const BackendSpec& spec : each.suite.backends)
      if (spec.name == backend && spec.python.empty()) return false;
  return true;
}

}  // namespace

void check_plugins(const std::string& option, const std::vector<PlannedSuite>& planned, const std::vector<PluginOverride>& plugins) {
  WordList names;
  for (const PlannedSuite& each : planned)
    for (const BackendSpec& backend : each.suite.backends)
      if (std::find(names.begin(), names.end(), backend.name) == names.end()) names.push_back(backend.name);
  for (const PluginOverride& plugin : plugins) {
    if (std::find(names.begin(), names.end(), plugin.backend) == names.end())
      throw Error(fmt::format("{}: no suite lists a backend {}; {}", option, quote(plugin.backend), allowed_text(plugin.backend, names)));
    if (plugin.file.ends_with(kPythonFile) && plugin.name_in_file.empty() && !has_class(planned, plugin.backend))
      throw Error(fmt::format("{}: {} takes the place of a backend that is no Python class: say which class of it, {}:CLASS", option, quote(plugin.file), plugin.file));
  }
}

void add_suite_arguments(CLI::App& app, SuiteArguments& arguments) {
  app.add_option("SUITE", arguments.suites, "Suite files")->required();
  add_values(app, "--filter", arguments.selection.filters, parse_filter, "REGEX",
             "Only cases whose id, name or tags match; --filter=-REGEX only those that do not; repeatable");
  add_values(app, "--backend", arguments.selection.backends, parse_text, "NAME", "Only this backend; repeatable");
  add_values(app, "--plugin", arguments.plugins, parse_plugin, "NAME=FILE[:BACKEND]", "Run FILE as backend NAME, its baselines unchanged; repeatable");
  add_value(app, "--python", arguments.python, parse_interpreter, "INTERPRETER", "Runs Python backends that name none; default $VIRTUAL_ENV/bin/python, then python3");
  add_value(app, "--device", arguments.device, parse_device, "auto|cpu|cuda|cuda:N|all", "Where to run; auto: on a GPU when there is one");
  add_value(app, "--max-cost", arguments.max_cost_flops, parse_cost, "20GFLOP", "Skip cases that cost more; on a CPU 10GFLOP unless given; a byte moved costs 8 FLOP");
  add_value(app, "--shard", arguments.selection.shard, parse_shard, "K/N", "Only the K-th of N parts of the cases");
  add_value(app, "--order-seed", arguments.selection.order_seed, parse_seed, "N", "Shuffle the order of the rows");
}

std::vector<PlannedSuite> planned_suites(const SuiteArguments& arguments) {
  std::vector<Suite> suites;
  for (const std::string& file : arguments.suites) suites.push_back(read_suite(file));
  std::vector<std::vector<Trial>> plans = plan(suites, arguments.selection);
  std::vector<PlannedSuite> planned;
  for (std::size_t i = 0; i < suites.size(); ++i) planned.push_back({std::move(suites[i]), std::move(plans[i])});
  check_plugins("--plugin", planned, arguments.plugins);
  return planned;
}

std::string suite_name(const std::string& name_or_file) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(name_or_file, ignored) ? read_suite(name_or_file).name : name_or_file;
}

std::string parse_filter(const std::string& text) {
  const std::string expression = text.substr(text.starts_with('-') ? 1 : 0);
  if (expression.empty()) throw Error("found no expression; an empty one would be found everywhere");
  try {
    Pattern{expression};
  } catch (const Error& error) {
    throw Error(fmt::format("found {}: it {}", quote(text), error.what()));
  }
  return text;
}

}  // namespace attn
