#include "judge/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "core/size_family.hpp"
#include "core/units.hpp"
#include "stats/summary.hpp"

namespace attn {
namespace {

std::string key(const SweepRow& row, const std::vector<std::int64_t Case::*>& sizes, std::int64_t by) {
  return row.series + '\n' + moved_case_id(row.value, sizes, by);
}

// Why the three cannot be compared; empty when they can.
std::string obstacle(const Measurement& middle, const SweepPair& beside) {
  for (const Measurement* row : {beside.before, beside.after})
    if (row->status != Status::ok) return fmt::format("{} beside it is {}", row->case_id, word(row->status));
  return incomparable(middle, {beside.before, beside.after});
}

}  // namespace

std::vector<std::vector<Neighbours>> sweep_neighbours(const std::vector<SweepRow>& rows) {
  std::map<std::string, std::size_t> by_key;
  for (std::size_t i = 0; i < rows.size(); ++i) by_key.emplace(key(rows[i], {}, 0), i);
  std::vector<std::vector<Neighbours>> neighbours(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const auto& sizes : sweep_directions()) {
      const auto before = by_key.find(key(rows[i], sizes, -1)), after = by_key.find(key(rows[i], sizes, 1));
      if (before != by_key.end() && after != by_key.end()) neighbours[i].push_back({before->second, after->second});
    }
  return neighbours;
}

TimesJudgement judge_smooth(const Measurement& middle, const SweepPair& beside, double limit, std::size_t max_blocks) {
  TimesJudgement result;
  if (result.message = obstacle(middle, beside); !result.message.empty()) return result;
  const std::vector<double> now = device_times(middle), before = device_times(*beside.before), after = device_times(*beside.after);
  const Interval ratio = result.ratio = device_ratio(middle, median(before) < median(after) ? after : before);
  const double allowed = 1 + limit;
  if (ratio.estimate <= allowed) {
    result.outcome = Outcome::pass;
    return result;
  }
  const std::size_t blocks = std::min({now.size(), before.size(), after.size()});
  result.message = fmt::format("device_ns {} between {} and {} of its neighbours in size, {:.3g}x of the slower one", duration_text(median(now)),
                               duration_text(median(before)), duration_text(median(after)), ratio.estimate);
  if (std::isfinite(ratio.high)) result.message += fmt::format(" ({:.3g}x to {:.3g}x)", ratio.low, ratio.high);
  conclude_slower(result, allowed, blocks, max_blocks, middle.blocks.size() >= max_blocks);
  return result;
}

bool judge_sweep(const JudgeInput& input, Verdict& verdict) {
  bool open = false;
  for (const Expectation& expectation : input.expectations) {
    if (!expectation.smooth) continue;
    for (const SweepPair& beside : input.beside) {
      const TimesJudgement judgement = input.latency_blocked.empty() ? judge_smooth(*input.measurement, beside, *expectation.smooth, input.max_blocks)
                                                                     : TimesJudgement{.outcome = {}, .ratio = {}, .message = input.latency_blocked};
      open |= judgement.open;
      add_judgement(judgement, "smooth", 1 + *expectation.smooth, expectation, verdict);
    }
  }
  return open;
}

}  // namespace attn
