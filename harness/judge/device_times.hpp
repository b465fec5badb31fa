#pragma once
// Device times of rows of one run, held against each other.

#include <optional>
#include <string>
#include <vector>

#include "judge/judge.hpp"

namespace attn {

inline constexpr std::size_t kConfirmingBlocks = 3;  // of each row: nobody fails on fewer, unless the parent may not measure that many

// What one comparison gave.
struct TimesJudgement {
  std::optional<Outcome> outcome;  // empty: not judged, `message` says why. Else pass, undecided or regressed
  Interval ratio;                  // of this row's time to the other's
  std::string message;
  bool open = false;               // more blocks may settle it
};

std::vector<double> device_times(const Measurement& measurement);
// Why the times of `here` and `others` cannot be compared: not measured, or with two instruments. Empty when they can.
std::string incomparable(const Measurement& here, const std::vector<const Measurement*>& others);
// Of two that can be compared: the ratio of their times as it is told, the interval widened by what the instrument cannot tell apart.
Interval device_ratio(const Measurement& here, const std::vector<double>& other, double confidence = 0.95);
// A ratio as it is told beside the two medians, and in the column of them: their quotient, in the interval of `ratio`. Who divides what is printed must find
// what is printed. The estimate of pairwise ratios makes more of few blocks, so a change is judged by that; for as many blocks as are measured both lie in
// the interval.
Interval as_told(const Interval& ratio, double now, double before);
// "2.1x (1.9x to 2.3x)"
std::string ratio_text(const Interval& ratio);

// The verdict on a time that did not pass, with the end of its message: regressed when the whole interval lies above `allowed` and each row has enough of the
// `max_blocks` that may be measured (`blocks`: the fewest), else undecided, for good when this was the `last` block.
void conclude_slower(TimesJudgement& judgement, double allowed, std::size_t blocks, std::size_t max_blocks, bool last);

// Adds what `judgement` says for `expectation`, which calls it `name` and allows `allowed` times the other's time.
void add_judgement(const TimesJudgement& judgement, const char* name, double allowed, const Expectation& expectation, Verdict& verdict);

}  // namespace attn
