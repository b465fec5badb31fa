#pragma once
// Smoothness: a size and its two neighbours take about the same time. `smooth: 15%` in an expectation of a suite that sweeps a size asks for it.

#include <cstddef>
#include <string>
#include <vector>

#include "core/case.hpp"
#include "judge/device_times.hpp"

namespace attn {

// One row of a run. `series`: what rows must have in common besides their case: suite, backend and device.
struct SweepRow {
  Case value;
  std::string series;
};

struct Neighbours {
  std::size_t before = 0, after = 0;  // rows
  bool operator==(const Neighbours&) const = default;
};

// For each row the rows beside it: the same case but for one size, one smaller and one larger. Sizes that a suite sets together (seq, heads with heads_kv,
// head_dim with head_dim_v) move together too. Empty for rows at the end of a sweep, and for those in none.
std::vector<std::vector<Neighbours>> sweep_neighbours(const std::vector<SweepRow>& rows);

// Regressed: the middle takes more than 1 + `limit` times as long as the slower of its neighbours (medians over blocks; the whole 95 % interval lies above),
// on three blocks of each, or on all that may be measured. A middle that is slower than one neighbour only is a step, not a peak. Else pass or undecided.
TimesJudgement judge_smooth(const Measurement& middle, const SweepPair& beside, double limit, std::size_t max_blocks);

// Adds what the row's expectations of smoothness found; true when more blocks, of the row and of its neighbours, may change it.
bool judge_sweep(const JudgeInput& input, Verdict& verdict);

}  // namespace attn
