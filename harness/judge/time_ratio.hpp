#pragma once
// One backend against another on the same case: `time_ratio: {to: naive, at_most: 0.5x}` in an expectation.

#include "judge/device_times.hpp"

namespace attn {

// Regressed: this row takes more than `allowed` times as long as the other (medians over blocks; the whole 95 % interval lies above), on three blocks of each,
// or on all that may be measured. Pass: the whole interval lies below; on the last block the one-sided one is enough. Else undecided.
TimesJudgement judge_time_ratio(const Measurement& here, const Measurement& other, double allowed, std::size_t max_blocks);

// Adds what the row's expectations of this kind found; true when more blocks, of the row and of those it is compared with, may change it.
bool judge_time_ratios(const JudgeInput& input, Verdict& verdict);

}  // namespace attn
