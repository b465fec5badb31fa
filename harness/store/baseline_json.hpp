#pragma once
// One file of baselines as text: a header, then one line a row.

#include <string>
#include <vector>

#include "core/baseline.hpp"

namespace attn {

inline constexpr std::int64_t kBaselineSchema = 1;

struct BaselineFile {
  std::string suite;
  DeviceType device = DeviceType::cpu;
  std::string arch, platform;
  std::string environment;  // for people: "NVIDIA H200", "AMD EPYC 7B13, 2 threads"
  std::vector<Baseline> rows;
};

// Sorted by case and backend; fields that are empty are left out; numbers are rounded to 4 significant digits.
std::string print_baselines(const BaselineFile& file);
// One row as its line, without the comma and the fields that the header holds.
std::string print_baseline(const Baseline& row);
// `name` is for messages. Throws Error with name:line when the text is no such file, of a schema that is not known, or says a row twice.
BaselineFile parse_baselines(const std::string& text, const std::string& name);

}  // namespace attn
