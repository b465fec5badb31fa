#pragma once
// Quantities with units: 3%, 1.05x, 2us, 64MiB, 20GFLOP. A bare number is refused: what it would mean is anybody's guess.

#include <string_view>

#include "core/suite.hpp"
#include "yaml/node.hpp"

namespace attn {

// Throw Error without a place: what was found and an example. Signs are refused.
double parse_ratio(std::string_view text);        // "3%" = 0.03
double parse_factor(std::string_view text);       // "1.05x" = 1.05
double parse_duration_ns(std::string_view text);  // ns us ms s m h
double parse_bytes(std::string_view text);        // B KiB MiB GiB TiB, a whole number of bytes
double parse_flops(std::string_view text);        // FLOP KFLOP MFLOP GFLOP TFLOP PFLOP

// The same for nodes, with their place.
double read_ratio(const Node& node);
double read_factor(const Node& node);  // more than 0
double read_duration_ns(const Node& node);
std::int64_t read_bytes(const Node& node);

// "5", "0..2" or "1.." (no upper bound): whole numbers without unit.
CountBound read_count(const Node& node);
// The same in bytes: each end with a unit, or bare for exact bytes.
CountBound read_byte_count(const Node& node);

}  // namespace attn
