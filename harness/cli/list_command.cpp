// `attn-regress list`: what a suite would run here, and what it would not, and why.

#include <algorithm>
#include <map>
#include <memory>

#include "cli/console.hpp"
#include "cli/interrupt.hpp"
#include "cli/subcommands.hpp"
#include "cli/suite_arguments.hpp"
#include "core/units.hpp"
#include "report/capabilities.hpp"
#include "report/grid.hpp"
#include "run/resolve.hpp"

namespace attn {
namespace {

struct Arguments {
  SuiteArguments suites;
  ColorChoice color = ColorChoice::automatic;
};

Tone tone(Status status) { return status == Status::ok ? Tone::good : status == Status::unsupported || status == Status::skipped ? Tone::dim : Tone::bad; }

std::string rows_text(const std::vector<Trial>& trials, const std::vector<TrialSupport>& answers, const Canvas& canvas) {
  Grid grid({{"backend", false, false, 0}, {"status", false, false, 0}, {"workspace", true, false, 1}, {"reason", false, true, 0, true}}, 2);
  std::string id;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Trial& trial = trials[i];
    if (trial.id != id) {
      id = trial.id;
      const std::string need = words_of_bits(needs(trial.value));
      grid.heading(fmt::format("{}  {}, {}, needs {}", id, flops_text(flops(trial.value)), bytes_text(minimal_bytes(trial.value)), need));
    }
    const auto& workspace = answers[i].workspace_bytes;
    grid.add({{trial.backend.name, Tone::plain}, {std::string(word(answers[i].status)), tone(answers[i].status)},
              {workspace ? bytes_text(static_cast<double>(*workspace)) : "", Tone::plain}, {answers[i].reason, Tone::dim}});
  }
  grid.hide_empty_columns();
  return grid.text(canvas.columns, canvas.color);
}

std::string backends_text(const std::vector<Trial>& trials, const RunOptions& options, const std::atomic<bool>& interrupted, const Canvas& canvas) {
  BackendResolver resolver(options, interrupted);
  const DeviceType device = resolver.targets().front().environment.device;
  Grid grid({{"backend", false, false, 0}, {"version", false, false, 1}, {"can", false, true, 0}});
  std::map<std::string, bool> seen;
  for (const Trial& trial : trials) {
    if (!seen.emplace(trial.backend.name, true).second) continue;
    const ResolvedBackend resolved = resolver.resolve(trial.backend, device);
    std::string version, can = resolved.reason;
    if (resolved.reason.empty()) {
      const PluginFacts& facts = resolver.facts(resolved.code);
      const bool elsewhere = std::any_of(facts.backends.begin(), facts.backends.end(), [&](const BackendFacts& each) { return each.name == resolved.name_in_file; });
      can = facts.fault ? facts.fault->reason
            : elsewhere ? fmt::format("{} in {} is for another kind of device", resolved.name_in_file, resolved.code.file)
                        : fmt::format("no backend {} in {}", resolved.name_in_file, resolved.code.file);
      for (const BackendFacts& backend : facts.backends)
        if (backend.name == resolved.name_in_file && backend.device == device) {
          version = backend.version;
          can = capabilities_text(backend.can);
        }
    }
    grid.add({{trial.backend.name, Tone::plain}, {version, Tone::plain}, {can, Tone::plain}});
  }
  return fmt::format("{}{}\n", grid.text(canvas.columns, canvas.color), all_capabilities_text());
}

ExitCode list(const Arguments& arguments) {
  std::vector<Trial> trials;
  for (const PlannedSuite& each : planned_suites(arguments.suites)) trials.insert(trials.end(), each.trials.begin(), each.trials.end());
  if (trials.empty()) {
    print(stdout, "nothing matches\n");
    return ExitCode::cannot_judge;
  }
  RunOptions options;
  options.installation = this_installation();
  options.plugins = arguments.suites.plugins;
  options.python = arguments.suites.python;
  options.device = arguments.suites.device;
  options.max_cost_flops = arguments.suites.max_cost_flops;
  const std::atomic<bool>& interrupted = watch_interrupts();
  const std::vector<TrialSupport> answers = supports(trials, options, interrupted);
  if (interrupted) return ExitCode::interrupted;

  const Canvas canvas = canvas_of(stdout, arguments.color);
  std::map<Status, std::size_t> counts;
  for (const TrialSupport& answer : answers) ++counts[answer.status];
  std::string sums;
  for (const auto& [status, count] : counts) sums += fmt::format("{}{} {}", sums.empty() ? "" : ", ", count, word(status));
  print(stdout, fmt::format("{}\n{}\n{}\n", rows_text(trials, answers, canvas), backends_text(trials, options, interrupted, canvas), sums));
  return ExitCode::pass;
}

}  // namespace

Subcommand add_list(CLI::App& program) {
  CLI::App* app = program.add_subcommand("list", "Cases and backends with their work, and what would be skipped or unsupported, and why");
  auto arguments = std::make_shared<Arguments>();
  add_suite_arguments(*app, arguments->suites);
  add_color(*app, arguments->color);
  return {app, [arguments] { return list(*arguments); }};
}

}  // namespace attn
