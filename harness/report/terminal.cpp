#include "report/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>

#include "core/verdict.hpp"

namespace attn {
namespace {

std::string_view value_of(const Lookup& environment, const char* name) {
  const char* value = environment(name);
  return value ? value : "";
}

}  // namespace

bool want_color(ColorChoice choice, bool is_terminal, const Lookup& environment) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  if (!value_of(environment, "NO_COLOR").empty()) return false;
  if (const auto force = value_of(environment, "FORCE_COLOR"); !force.empty() && force != "0") return true;
  return is_terminal && value_of(environment, "TERM") != "dumb";
}

int terminal_columns(int descriptor, const Lookup& environment) {
  const std::string_view text = value_of(environment, "COLUMNS");
  int columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  if (error == std::errc{} && end == text.data() + text.size() && columns > 0) return columns;
  winsize size{};
  if (isatty(descriptor) && ioctl(descriptor, TIOCGWINSZ, &size) == 0) return size.ws_col;
  return 0;
}

bool can_rewrite(int descriptor, const Lookup& environment) { return isatty(descriptor) && value_of(environment, "TERM") != "dumb"; }

std::string paint(std::string_view text, Tone tone, bool color) {
  static constexpr std::array codes{"", "32", "33", "1;31", "2", "1"};
  if (!color || tone == Tone::plain || text.empty()) return std::string(text);
  return "\x1b[" + std::string(codes[static_cast<std::size_t>(tone)]) + "m" + std::string(text) + "\x1b[0m";
}

Tone tone_of(Outcome outcome) {
  if (exit_code(outcome) == 1) return Tone::bad;
  if (exit_code(outcome) == 5 || outcome == Outcome::waived) return Tone::warning;
  if (outcome == Outcome::skipped || outcome == Outcome::unsupported) return Tone::dim;
  return outcome == Outcome::no_baseline ? Tone::plain : Tone::good;
}

}  // namespace attn
