#pragma once
// How a wrong tensor is described: where, how much of it.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/comparison.hpp"
#include "engine/reference.hpp"

namespace attn {

// "(batch 0, head 1, row 5, column 3)".
std::string place_of(const OutputRow& row, std::int64_t column);
// As it is, but for a NaN: its sign says nothing, and "-nan" would be read as if it did.
double without_nan_sign(double value);
// "1 element", "12 elements".
std::string elements(std::int64_t count);
// "12 of 640 checked rows are off, only head 3, only from row 60 on".
std::string extent_of(const std::vector<bool>& off, const std::vector<OutputRow>& rows);
// "worst at (batch 0, head 1, row 5, column 3): found 17.5, expected 0.25 within 0.001; 12 of 640 checked rows are off". `found`: (rows, columns), as in expected.
std::string worst_of(const Comparison& comparison, const std::vector<OutputRow>& rows, const std::vector<double>& found, const Evaluation& expected);

std::string joined(const auto& parts, const char* separator) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : separator) + fmt::format("{}", part);
  return text;
}

}  // namespace attn
