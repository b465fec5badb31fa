#pragma once
// A subcommand: its options, and what it does once they are parsed.

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "core/verdict.hpp"

namespace attn {

struct Subcommand {
  CLI::App* app = nullptr;
  std::function<ExitCode()> action;
};

// Declares the subcommand and its options in `program`.
using AddSubcommand = Subcommand(CLI::App& program);

// The program as typed, for the record of a run.
const std::vector<std::string>& command_line();

// Calls `parse(text)`; its errors are made to begin with the option's name.
template <class Parse>
auto parse_option(const std::string& name, const Parse& parse, const std::string& text) {
  try {
    return parse(text);
  } catch (const Error& error) {
    const std::string message = error.what();
    throw Error(message.starts_with(name) ? message : name + ": " + message, error.fault());
  }
}

// An option whose text `parse` turns into the value.
template <class T, class Parse>
CLI::Option* add_value(CLI::App& app, const std::string& name, T& value, Parse parse, const std::string& type, const std::string& help) {
  const auto set = [&value, parse, name](const std::string& text) { value = parse_option(name, parse, text); };
  return app.add_option_function<std::string>(name, set, help)->type_name(type);
}

// The same for an option that may be repeated; each occurrence takes one value.
template <class T, class Parse>
CLI::Option* add_values(CLI::App& app, const std::string& name, std::vector<T>& values, Parse parse, const std::string& type, const std::string& help) {
  const auto set = [&values, parse, name](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) values.push_back(parse_option(name, parse, text));
  };
  return app.add_option_function<std::vector<std::string>>(name, set, help)->type_name(type)->allow_extra_args(false);
}

}  // namespace attn
