#include "core/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace attn {
namespace {

std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

// The unit is chosen by the rounded value: 999.7 us is "1.00 ms", not "1000 us".
std::string scaled(double value, double step, std::span<const char* const> units, bool whole_numbers) {
  if (!std::isfinite(value)) return "?";
  std::size_t unit = 0;
  while (unit + 1 < units.size() && std::abs(value) >= step - 0.5) {
    value /= step;
    ++unit;
  }
  const bool whole = whole_numbers ? value == std::floor(value) : unit == 0 && std::abs(value) >= 1;
  return fmt::format("{} {}", whole ? fmt::format("{:.0f}", value) : three_digits(value), units[unit]);
}

}  // namespace

std::string duration_text(double ns) {
  static constexpr std::array units{"ns", "us", "ms", "s"};
  return scaled(ns, 1000, units, false);
}

std::string bytes_text(double bytes) {
  static constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  return scaled(bytes, 1024, units, true);
}

std::string flops_text(double flops) {
  static constexpr std::array units{"FLOP", "KFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
  return scaled(flops, 1000, units, false);
}

std::string change_text(double ratio) {
  if (!std::isfinite(ratio)) return "?";
  if (ratio >= 2 || ratio <= 0.5) return fmt::format("x{}", three_digits(ratio));
  return fmt::format("{:+.1f}%", (ratio - 1) * 100);
}

std::string elapsed_text(double seconds) {
  const auto whole = static_cast<long long>(std::max(0.0, seconds) + 0.5);
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

std::string error_text(double error) { return error == 0 ? "0" : fmt::format("{:.1e}", error); }

}  // namespace attn
