#include "cli/program.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "cli/subcommand.hpp"
#include "cli/subcommands.hpp"
#include "report/printable.hpp"
#include "yaml/nearest.hpp"

namespace attn {
namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 pass, 1 a gate failed, 2 interrupted, 3 internal error, 4 usage or input error, 5 cannot judge (also when nothing was judged).";

std::vector<std::string> typed;

void complain(const std::string& message) { std::fputs(("attn-regress: " + message + "\n").c_str(), stderr); }

// The innermost subcommand that was named.
const CLI::App& innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() ? path_of(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

// The subcommands that the help shows.
WordList commands_of(const CLI::App& app) {
  WordList names;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); })) names.push_back(each->get_name());
  return names;
}

std::string suggestion(std::string_view found, const WordList& allowed) {
  const std::string_view near = nearest(found, allowed);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

// Words that no option or argument took.
void refuse_extras(const CLI::App& app) {
  const auto extras = app.remaining();
  if (extras.empty()) return;
  const std::string found = extras.front().substr(0, extras.front().find('='));
  const bool is_option = found.starts_with("-");
  std::vector<std::string> options;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  throw Error(fmt::format("{} {}{}; see {} --help", is_option ? "unknown option" : "unexpected argument", quote(found),
                          suggestion(found, is_option ? WordList(options.begin(), options.end()) : commands_of(app)), path_of(app)));
}

// `attn-regress SUITE...` is `attn-regress run SUITE...`.
std::vector<std::string> with_subcommand(std::vector<std::string> words, const CLI::App& program) {
  if (words.empty()) throw Error("found neither a suite nor a subcommand; for example: attn-regress suites/llama.yaml; see attn-regress --help");
  const std::string& first = words[0];
  if (first == "--help" || first == "-h" || first == "--version") return words;
  if (!program.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == first; }).empty()) return words;
  std::error_code ignored;
  const bool is_path = first.starts_with("-") || first.find_first_of("./") != std::string::npos || std::filesystem::exists(first, ignored);
  if (!is_path) {
    const WordList commands = commands_of(program);
    const std::string near = suggestion(first, commands);
    throw Error(fmt::format("no suite or command {}{}", quote(first),
                            near.empty() ? fmt::format("; commands are: {}; a suite is a file, such as suites/llama.yaml", join(commands)) : near));
  }
  words.insert(words.begin(), "run");
  return words;
}

ExitCode parse_and_act(std::vector<std::string> words) {
  CLI::App program("Runs attention backends, counts and times what they do, and fails the build when something got worse.", "attn-regress");
  program.set_version_flag("--version", std::string("attn-regress ") + ATTN_VERSION);
  program.footer(std::string("`attn-regress SUITE...` is `attn-regress run SUITE...`.\n") + kExitCodes);
  program.require_subcommand(1);
  std::vector<Subcommand> subcommands;
  for (AddSubcommand* add : kSubcommands) {
    subcommands.push_back(add(program));
    subcommands.back().app->allow_extras();  // refused below, with the nearest name
  }

  words = with_subcommand(std::move(words), program);
  try {
    program.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::Success& help) {
    program.exit(help);
    return ExitCode::pass;
  } catch (const CLI::ParseError& error) {
    const CLI::App& app = innermost(program);
    refuse_extras(app);
    throw Error(fmt::format("{}; see {} --help", error.what(), path_of(app)));
  }
  refuse_extras(innermost(program));
  for (const Subcommand& subcommand : subcommands)
    if (subcommand.app->parsed()) return subcommand.action();
  throw Error("no subcommand was chosen", Fault::internal);
}

int internal_error(const std::string& what) {
  complain(fmt::format("internal error: {}\nThis is a fault of attn-regress {}: please report it with this message and the command that led to it.",
                       printable(what), ATTN_VERSION));
  return static_cast<int>(ExitCode::internal_error);
}

}  // namespace

const std::vector<std::string>& command_line() { return typed; }

int run_program(const std::vector<std::string>& words) {
  // A reader that closes our output early (`| head`) must not change the exit code.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file limit is a full disk, with a message
  typed = words;
  try {
    return static_cast<int>(parse_and_act({words.begin() + 1, words.end()}));
  } catch (const Error& error) {
    if (error.fault() == Fault::internal) return internal_error(error.what());
    complain(printable(error.what()));
    return static_cast<int>(ExitCode::usage_error);
  } catch (const std::filesystem::filesystem_error& error) {
    complain(printable(error.what()));  // a path of the user's that cannot be looked at
    return static_cast<int>(ExitCode::usage_error);
  } catch (const std::exception& error) {
    return internal_error(error.what());
  }
}

}  // namespace attn
