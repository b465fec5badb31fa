// `attn-regress ab`: two interpreters, builds or settings, measured by turns and held against each other.

#include <memory>

#include "cli/measuring.hpp"
#include "cli/side_settings.hpp"
#include "cli/subcommands.hpp"

namespace attn {
namespace {

struct Arguments {
  MeasuringArguments measuring;
  SideSettings a, b;
};

// One side is what the other is held against.
class NoBaselines : public BaselineSource {
 public:
  const Baseline* counts(const Measurement&) const override { return nullptr; }
  const Baseline* times(const Measurement&) const override { return nullptr; }
};

ExitCode compare(Arguments arguments) {
  if (arguments.a.typed.empty() && arguments.b.typed.empty())
    throw Error("neither --a nor --b says anything, so there is nothing to compare; for example: --b plugin=flash=build/libflash.so; see attn-regress ab --help");
  const std::vector<PlannedSuite> planned = planned_suites(arguments.measuring.suites);
  bind_plugins("--a", planned, arguments.a);
  bind_plugins("--b", planned, arguments.b);
  const Rules rules = rules_of(arguments.measuring);
  if (arguments.measuring.dry_run) return show_plan(planned, arguments.measuring.color);
  arguments.measuring.options.sides = {arguments.a, arguments.b};
  return measure(arguments.measuring, planned, rules, NoBaselines()).exit;
}

void add_side(CLI::App& app, const std::string& option, SideSettings& side, const std::string& help) {
  const auto set = [&side, option](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) parse_option(option, [&](const std::string& each) { return add_setting(each, side); }, text);
  };
  app.add_option_function<std::vector<std::string>>(option, set, help)->type_name("SPEC")->allow_extra_args(false);
}

}  // namespace

Subcommand add_ab(CLI::App& program) {
  CLI::App* app = program.add_subcommand("ab", "Measure suites on two sides by turns and judge b against a: two interpreters, builds or settings");
  auto arguments = std::make_shared<Arguments>();
  add_side(*app, "--a", arguments->a,
           "Of the side that b is held against: python=INTERPRETER, plugin=[NAME=]FILE[:BACKEND] or env:NAME=VALUE; repeatable; without it the suite as it stands");
  add_side(*app, "--b", arguments->b, "Of the side that is judged; likewise");
  add_measuring_arguments(*app, arguments->measuring);
  app->footer("What did not change between the sides (a backend of the same files, without a setting of its own) is skipped. Exit codes are those of b.");
  return {app, [arguments] { return compare(*arguments); }};
}

}  // namespace attn
