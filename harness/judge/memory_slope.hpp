#pragma once
// How memory grows with a size: `memory_slope: {over: seq, at_most: 1.1}` in an expectation holds a row against one of at most half that size.

#include "judge/judge.hpp"

namespace attn {

// log(peak / peak of the smaller) / log(size / smaller size): 1 = as the size does, 2 = as its square. Rows without a smaller one have nothing to say.
void judge_memory_slopes(const JudgeInput& input, Verdict& verdict);

}  // namespace attn
