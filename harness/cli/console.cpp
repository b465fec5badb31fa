#include "cli/console.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "yaml/nearest.hpp"

namespace attn {
namespace {

ColorChoice parse_color(const std::string& text) {
  if (const auto choice = from_word<ColorChoice>(text)) return *choice;
  throw Error(fmt::format("found {}; {}", quote(text), allowed_text(text, WordList(Words<ColorChoice>::list.begin(), Words<ColorChoice>::list.end()))));
}

}  // namespace

void add_color(CLI::App& app, ColorChoice& choice) {
  add_value(app, "--color", choice, parse_color, "auto|always|never", "Colours; beats NO_COLOR and FORCE_COLOR");
}

Canvas canvas_of(std::FILE* stream, ColorChoice choice) {
  const int descriptor = fileno(stream);
  return {static_cast<std::size_t>(terminal_columns(descriptor, std::getenv)), want_color(choice, isatty(descriptor), std::getenv)};
}

void print(std::FILE* stream, const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0;
  if (!written && errno != EPIPE) throw Error(fmt::format("cannot write the output: {}", std::strerror(errno)));
}

}  // namespace attn
