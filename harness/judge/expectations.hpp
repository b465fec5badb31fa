#pragma once
// Expectations against what one row showed: counts, classes of operations, the path.

#include "judge/judge.hpp"

namespace attn {

// Adds what was found otherwise than expected, and what could not be judged.
void judge_expectations(const JudgeInput& input, Verdict& verdict);

}  // namespace attn
