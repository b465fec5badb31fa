#pragma once
// Memory against the baseline: what a call holds at most, what opening the backend does, and what stays behind.

#include <cstdint>
#include <optional>
#include <string>

#include "judge/judge.hpp"

namespace attn {

// One of a row's peaks. What differs by less than `step` bytes is the same to `source`.
struct Peak {
  const char* name;  // "peak_bytes", "prepare_peak_bytes"
  std::optional<std::int64_t> bytes;
  std::string source;
  std::int64_t step = 0;
};
Peak peak_of(const Memory& memory, PeakOf of);

// Adds its findings and what it could not judge. `baseline`: by arch, of a row that was ok; null: none.
void judge_memory(const JudgeInput& input, const Baseline* baseline, Verdict& verdict);

}  // namespace attn
