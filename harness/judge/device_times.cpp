#include "judge/device_times.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "judge/latency.hpp"
#include "stats/summary.hpp"

namespace attn {

std::vector<double> device_times(const Measurement& measurement) { return times(measurement.blocks, &Block::device_ns); }

std::string incomparable(const Measurement& here, const std::vector<const Measurement*>& others) {
  std::vector<const Measurement*> rows{&here};
  rows.insert(rows.end(), others.begin(), others.end());
  std::optional<Instrument> instrument;
  for (const Measurement* row : rows) {
    if (device_times(*row).empty()) return "device_ns was not measured";
    for (const Block& block : row->blocks) {
      if (!block.device_ns) continue;
      if (instrument && *instrument != block.instrument)
        return fmt::format("instrument {} here, {} beside it: numbers of two instruments are not compared", word(*instrument), word(block.instrument));
      instrument = block.instrument;
    }
  }
  return "";
}

Interval device_ratio(const Measurement& here, const std::vector<double>& other, double confidence) {
  double step = 0;
  for (const Block& block : here.blocks)
    if (block.device_ns) step = instrument_step(block.instrument);
  const std::vector<double> now = device_times(here);
  return as_told(widened(ratio_interval(now, other, confidence), median(now), median(other), step), median(now), median(other));
}

Interval as_told(const Interval& ratio, double now, double before) { return before > 0 ? Interval{now / before, ratio.low, ratio.high} : ratio; }

std::string ratio_text(const Interval& ratio) {
  if (!std::isfinite(ratio.high)) return fmt::format("{:.3g}x", ratio.estimate);
  return fmt::format("{:.3g}x ({:.3g}x to {:.3g}x)", ratio.estimate, ratio.low, ratio.high);
}

void conclude_slower(TimesJudgement& judgement, double allowed, std::size_t blocks, std::size_t max_blocks, bool last) {
  const bool regressed = judgement.ratio.low > allowed && blocks >= std::min(kConfirmingBlocks, max_blocks);
  judgement.outcome = regressed ? Outcome::regressed : Outcome::undecided;
  judgement.open = !regressed && !last;
  judgement.message += regressed ? fmt::format(", expected at most {:.3g}x", allowed)
                                 : fmt::format(": {} blocks cannot tell it from the expected {:.3g}x", blocks, allowed);
}

void add_judgement(const TimesJudgement& judgement, const char* name, double allowed, const Expectation& expectation, Verdict& verdict) {
  if (!judgement.outcome) verdict.not_judged.push_back(fmt::format("{}: {}", name, judgement.message));
  if (!judgement.outcome || *judgement.outcome == Outcome::pass) return;
  Finding finding;
  finding.gate = Gate::latency;
  finding.metric = "device_ns";
  finding.outcome = *judgement.outcome;
  finding.message = judgement.message;
  finding.ratio = judgement.ratio.estimate;
  finding.low = judgement.ratio.low;
  if (std::isfinite(judgement.ratio.high)) finding.high = judgement.ratio.high;
  finding.threshold = allowed;
  finding.line = expectation.place.line;
  verdict.findings.push_back(std::move(finding));
}

}  // namespace attn
