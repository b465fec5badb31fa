#pragma once
// What the terminal is and may show: its width, and whether colours are wanted.

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "core/words.hpp"

namespace attn {

enum class ColorChoice { automatic, always, never };
template <> struct Words<ColorChoice> { static constexpr std::array list{"auto", "always", "never"}; };

// The value of an environment variable, null when it is not set: getenv, or a test's.
using Lookup = std::function<const char*(const char*)>;

// The option beats NO_COLOR (no-color.org: set and not empty) and FORCE_COLOR (set, not empty, not 0), those beat what the terminal is. A "dumb" one has none.
bool want_color(ColorChoice choice, bool is_terminal, const Lookup& environment);
// COLUMNS when it is a positive number, else the terminal's width, else 0 = unlimited.
int terminal_columns(int descriptor, const Lookup& environment);
// True for a terminal that can rewrite a line.
bool can_rewrite(int descriptor, const Lookup& environment);

enum class Tone { plain, good, warning, bad, dim, strong };
// `text` in the tone's colour; unchanged when `color` is off.
std::string paint(std::string_view text, Tone tone, bool color);
Tone tone_of(Outcome outcome);

}  // namespace attn
