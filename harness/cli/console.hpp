#pragma once
// What the program prints on, and whether in colours.

#include <cstdio>
#include <string>

#include "cli/subcommand.hpp"
#include "report/terminal.hpp"

namespace attn {

// Adds `--color auto|always|never`.
void add_color(CLI::App& app, ColorChoice& choice);

struct Canvas {
  std::size_t columns = 0;  // 0 = unlimited
  bool color = false;
};
// Of a stream, by the option, the environment and the terminal.
Canvas canvas_of(std::FILE* stream, ColorChoice choice);

// Writes all of `text` and flushes. A reader that went away is no error; a full disk is: throws Error.
void print(std::FILE* stream, const std::string& text);

}  // namespace attn
