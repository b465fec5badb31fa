#include "run/reproduce.hpp"

#include <algorithm>
#include <string_view>

namespace attn {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// $'...', in which no byte is one that a report replaces.
std::string shell_escaped(const std::string& text) {
  std::string escaped = "$'";
  for (const char c : text) {
    if (c == '\n') escaped += "\\n";
    else if (c == '\t') escaped += "\\t";
    else if (is_control(c)) escaped += fmt::format("\\x{:02x}", c);
    else if (c == '\'' || c == '\\') escaped += std::string{'\\', c};
    else escaped += c;
  }
  return escaped + "'";
}

std::string shell_quoted(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  if (std::ranges::any_of(text, is_control)) return shell_escaped(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string regex_literal(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string reproduce_command(const Suite& suite, const Trial& trial, const RunOptions& options, const std::vector<const Trial*>& beside) {
  std::vector<std::string> ids{trial.id}, backends{trial.backend.name};
  const auto add = [](std::vector<std::string>& names, const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const Trial* other : beside) {
    add(ids, other->id);
    add(backends, other->backend.name);
  }
  std::string command = (options.sides.empty() ? "attn-regress run " : "attn-regress ab ") + shell_quoted(suite.path);
  for (std::size_t i = 0; i < options.sides.size(); ++i)
    for (const std::string& setting : options.sides[i].typed) command += fmt::format(" --{} {}", word(static_cast<Side>(i)), shell_quoted(setting));
  for (const std::string& id : ids) command += " --filter " + shell_quoted("^" + regex_literal(id) + "$");
  for (const std::string& backend : backends) command += " --backend " + shell_quoted(backend);
  for (const PluginOverride& override : options.plugins)
    if (std::ranges::find(backends, override.backend) != backends.end())
      command += " --plugin " + shell_quoted(override.backend + "=" + override.file + (override.name_in_file.empty() ? "" : ":" + override.name_in_file));
  if (!options.python.empty()) command += " --python " + shell_quoted(options.python);
  if (options.device != RunOptions{}.device) command += " --device " + shell_quoted(options.device);
  if (options.gates != RunOptions{}.gates) {
    std::string gates;
    for (const Gate gate : options.gates) gates += (gates.empty() ? "" : ",") + std::string(word(gate));
    command += " --gates " + gates;
  }
  if (!options.rules_file.empty()) command += " --rules " + shell_quoted(options.rules_file);
  if (!options.baseline_directory.empty()) command += " --baseline " + shell_quoted(options.baseline_directory);
  if (options.max_cost_flops) command += fmt::format(" --max-cost {:.0f}FLOP", *options.max_cost_flops);
  const auto milliseconds = [](std::chrono::nanoseconds time) { return fmt::format("{}ms", std::chrono::ceil<std::chrono::milliseconds>(time).count()); };
  if (options.timeout != RunOptions{}.timeout) command += " --timeout " + milliseconds(options.timeout);
  if (options.prepare_timeout != RunOptions{}.prepare_timeout) command += " --prepare-timeout " + milliseconds(options.prepare_timeout);
  if (options.require_baseline) command += " --require-baseline";
  if (options.seed != 1) command += fmt::format(" --seed {}", options.seed);
  return command;
}

}  // namespace attn
