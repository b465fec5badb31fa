#include "judge/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "core/units.hpp"
#include "judge/latency.hpp"
#include "stats/summary.hpp"

namespace attn {
namespace {

constexpr std::size_t kConfirmingBlocks = 3;  // of each of the three rows: nobody fails on fewer, unless the parent may not measure that many

using Size = std::int64_t Case::*;

// Sizes that a sweep may move, alone or together.
const std::vector<std::vector<Size>>& directions() {
  static const std::vector<std::vector<Size>> all{
      {&Case::seq_q, &Case::seq_kv}, {&Case::seq_q},    {&Case::seq_kv},
      {&Case::heads, &Case::heads_kv}, {&Case::heads},  {&Case::heads_kv},
      {&Case::head_dim, &Case::head_dim_v}, {&Case::head_dim}, {&Case::head_dim_v},
      {&Case::batch},                {&Case::page_size}};
  return all;
}

std::string key(const SweepRow& row, const std::vector<Size>& sizes, std::int64_t by) {
  Case moved = row.value;
  for (const Size size : sizes) moved.*size += by;
  return row.series + '\n' + case_id(moved);
}

std::vector<double> device_times(const Measurement& m) { return times(m.blocks, &Block::device_ns); }

// Why the three cannot be compared; empty when they can.
std::string obstacle(const Measurement& middle, const SweepPair& beside) {
  for (const Measurement* row : {beside.before, beside.after})
    if (row->status != Status::ok) return fmt::format("{} beside it is {}", row->case_id, word(row->status));
  std::optional<Instrument> instrument;
  for (const Measurement* row : {&middle, beside.before, beside.after}) {
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

}  // namespace

std::vector<std::vector<Neighbours>> sweep_neighbours(const std::vector<SweepRow>& rows) {
  std::map<std::string, std::size_t> by_key;
  for (std::size_t i = 0; i < rows.size(); ++i) by_key.emplace(key(rows[i], {}, 0), i);
  std::vector<std::vector<Neighbours>> neighbours(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const std::vector<Size>& sizes : directions()) {
      const auto before = by_key.find(key(rows[i], sizes, -1)), after = by_key.find(key(rows[i], sizes, 1));
      if (before != by_key.end() && after != by_key.end()) neighbours[i].push_back({before->second, after->second});
    }
  return neighbours;
}

SmoothJudgement judge_smooth(const Measurement& middle, const SweepPair& beside, double limit, std::size_t max_blocks) {
  SmoothJudgement result;
  if (result.message = obstacle(middle, beside); !result.message.empty()) return result;
  const std::vector<double> now = device_times(middle), before = device_times(*beside.before), after = device_times(*beside.after);
  const std::vector<double>& slower = median(before) < median(after) ? after : before;
  const double here = median(now), there = median(slower), allowed = 1 + limit;
  double step = 0;
  for (const Block& block : middle.blocks)
    if (block.device_ns) step = instrument_step(block.instrument);
  const Interval ratio = result.ratio = widened(ratio_interval(now, slower), here, there, step);
  if (ratio.estimate <= allowed) {
    result.outcome = Outcome::pass;
    return result;
  }
  const std::size_t blocks = std::min({now.size(), before.size(), after.size()});
  const bool last = middle.blocks.size() >= max_blocks;
  result.message = fmt::format("device_ns {} between {} and {} of its neighbours in size, {:.3g}x of the slower one", duration_text(here),
                               duration_text(median(before)), duration_text(median(after)), ratio.estimate);
  if (std::isfinite(ratio.high)) result.message += fmt::format(" ({:.3g}x to {:.3g}x)", ratio.low, ratio.high);
  if (ratio.low > allowed && blocks >= std::min(kConfirmingBlocks, max_blocks)) {
    result.outcome = Outcome::regressed;
    result.message += fmt::format(", allowed {:.3g}x", allowed);
  } else {
    result.outcome = Outcome::undecided;
    result.open = !last;
    result.message += fmt::format(": {} blocks cannot tell it from the allowed {:.3g}x", blocks, allowed);
  }
  return result;
}

bool judge_sweep(const JudgeInput& input, Verdict& verdict) {
  bool open = false;
  for (const Expectation& expectation : input.expectations) {
    if (!expectation.smooth) continue;
    for (const SweepPair& beside : input.beside) {
      const SmoothJudgement judgement = input.latency_blocked.empty() ? judge_smooth(*input.measurement, beside, *expectation.smooth, input.max_blocks)
                                                                      : SmoothJudgement{.outcome = {}, .ratio = {}, .message = input.latency_blocked};
      open |= judgement.open;
      if (!judgement.outcome) verdict.not_judged.push_back("smooth: " + judgement.message);
      if (!judgement.outcome || *judgement.outcome == Outcome::pass) continue;
      Finding finding;
      finding.gate = Gate::latency;
      finding.metric = "device_ns";
      finding.outcome = *judgement.outcome;
      finding.message = judgement.message;
      finding.ratio = judgement.ratio.estimate;
      finding.low = judgement.ratio.low;
      if (std::isfinite(judgement.ratio.high)) finding.high = judgement.ratio.high;
      finding.threshold = 1 + *expectation.smooth;
      finding.line = expectation.place.line;
      verdict.findings.push_back(std::move(finding));
    }
  }
  return open;
}

}  // namespace attn
