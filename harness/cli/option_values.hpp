#pragma once
// Values of options, parsed strictly from their text. Every function throws Error that says what was found, what is allowed and gives an example.

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include "core/words.hpp"
#include "run/run.hpp"

namespace attn {

// "60s", "1.5m": above zero, at most a year. A bare number is refused.
std::chrono::nanoseconds parse_duration(const std::string& text);
// "20GFLOP": above zero. A bare number is refused.
double parse_cost(const std::string& text);
// Decimal digits.
std::uint64_t parse_seed(const std::string& text);
std::int64_t parse_positive(const std::string& text);

// "numerics,kernels".
std::set<Gate> parse_gates(const std::string& text);
// "NAME=FILE" or "NAME=FILE:BACKEND". FILE must exist; what it holds is found out when it runs.
PluginOverride parse_plugin(const std::string& text);
// "FILE" or "FILE:BACKEND", for a backend that is to be found out.
PluginOverride parse_plugin_file(const std::string& text);
// "auto", "cpu", "cuda", "cuda:N" or "all".
std::string parse_device(const std::string& text);
// A program that can be run, as typed.
std::string parse_interpreter(const std::string& text);
// A text that is not blank.
std::string parse_text(const std::string& text);

}  // namespace attn
