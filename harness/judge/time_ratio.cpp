#include "judge/time_ratio.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/units.hpp"
#include "stats/summary.hpp"

namespace attn {
namespace {

constexpr double kOneSided = 0.90;  // of which each end holds with 95 %

TimesJudgement not_judged(std::string why) {
  TimesJudgement result;
  result.message = std::move(why);
  return result;
}

TimesJudgement judge_one(const JudgeInput& input, const TimeRatio& expected) {
  if (!input.latency_blocked.empty()) return not_judged(input.latency_blocked);
  const auto other = input.other_backends.find(expected.to);
  if (other == input.other_backends.end()) return not_judged(fmt::format("{} has no row of this case in this run", expected.to));
  if (other->second->status != Status::ok) return not_judged(fmt::format("{} is {} on this case", expected.to, word(other->second->status)));
  return judge_time_ratio(*input.measurement, *other->second, expected.at_most, input.max_blocks);
}

}  // namespace

TimesJudgement judge_time_ratio(const Measurement& here, const Measurement& other, double allowed, std::size_t max_blocks) {
  if (std::string why = incomparable(here, {&other}); !why.empty()) return not_judged(std::move(why));
  const std::vector<double> now = device_times(here), theirs = device_times(other);
  TimesJudgement result;
  result.ratio = device_ratio(here, theirs);
  const std::size_t blocks = std::min(now.size(), theirs.size());
  const bool last = here.blocks.size() >= max_blocks;
  const double highest = last ? device_ratio(here, theirs, kOneSided).high : result.ratio.high;
  result.message = fmt::format("device_ns {}, {} of {}'s {}", duration_text(median(now)), ratio_text(result.ratio), other.backend, duration_text(median(theirs)));
  if (highest <= allowed) result.outcome = Outcome::pass;
  else conclude_slower(result, allowed, blocks, max_blocks, last);
  return result;
}

bool judge_time_ratios(const JudgeInput& input, Verdict& verdict) {
  bool open = false;
  for (const Expectation& expectation : input.expectations) {
    if (!expectation.time_ratio || expectation.time_ratio->to == input.measurement->backend) continue;
    const TimesJudgement judgement = judge_one(input, *expectation.time_ratio);
    open |= judgement.open;
    add_judgement(judgement, "time_ratio", expectation.time_ratio->at_most, expectation, verdict);
  }
  return open;
}

}  // namespace attn
