#pragma once
// What can be judged exactly against the baseline: counts and kernel path.

#include "judge/judge.hpp"

namespace attn {

// Each adds its findings and what it could not judge. `baseline`: by arch, of a row that was ok; null: none.
void judge_path(const JudgeInput& input, const Baseline* baseline, Verdict& verdict);
void judge_counts(const JudgeInput& input, const Baseline* baseline, Verdict& verdict);

}  // namespace attn
