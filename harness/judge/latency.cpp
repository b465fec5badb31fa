#include "judge/latency.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "accounting/difference.hpp"
#include "core/units.hpp"
#include "judge/device_times.hpp"
#include "stats/drift.hpp"
#include "stats/summary.hpp"

namespace attn {
namespace {

struct Sample {
  const char* name;
  std::vector<double> now, before;
};

Sample sample_of(const Measurement& m, const Baseline& baseline, LatencyMetric metric) {
  switch (metric) {
    case LatencyMetric::device: return {"device_ns", times(m.blocks, &Block::device_ns), baseline.device_ns};
    case LatencyMetric::span: return {"span_ns", times(m.blocks, &Block::span_ns), baseline.span_ns};
    case LatencyMetric::host: return {"host_ns", times(m.blocks, &Block::host_ns), baseline.host_ns};
  }
  return {};
}

const char* name_of(LatencyMetric metric) { return metric == LatencyMetric::device ? "device_ns" : metric == LatencyMetric::span ? "span_ns" : "host_ns"; }

// Why the two sides cannot be compared; empty when they can.
std::string obstacle(const JudgeInput& input, LatencyMetric metric) {
  const Measurement& m = *input.measurement;
  if (m.control) return "a control row shows the machine, not a backend";
  if (!input.latency_blocked.empty()) return input.latency_blocked;
  const Baseline* baseline = input.times_baseline;
  if (!baseline) return fmt::format("no baseline for platform {}", m.platform.empty() ? "(unknown)" : m.platform);
  if (baseline->status != Status::ok) return fmt::format("the baseline is {}", word(baseline->status));
  if (baseline->platform != m.platform) return fmt::format("platform {}, baseline {}", m.platform, baseline->platform);
  if (baseline->cache != m.cache) return fmt::format("cache {}, baseline {}", word(m.cache), word(baseline->cache));
  if (metric == LatencyMetric::device)
    for (const Block& block : m.blocks)
      if (block.device_ns && block.instrument != baseline->instrument)
        return fmt::format("instrument {}, baseline {}: numbers of two instruments are not compared", word(block.instrument), word(baseline->instrument));
  const Sample sample = sample_of(m, *baseline, metric);
  if (sample.now.empty()) return "not measured";
  if (sample.before.empty()) return fmt::format("the baseline has no {}", sample.name);
  return {};
}

bool constant(const std::vector<double>& values) { return std::ranges::all_of(values, [&](double each) { return each == values.front(); }); }

// The step of a coarse clock, where the values themselves show one. Two constant sides of which one is once or twice the step are no proof: any two round
// numbers look so.
double shown_step(const Sample& sample) {
  std::vector<double> all = sample.now;
  all.insert(all.end(), sample.before.begin(), sample.before.end());
  const double step = grid_step(all);
  if (constant(sample.now) && constant(sample.before) && std::min(sample.now.front(), sample.before.front()) < 2.5 * step) return 0;
  return step;
}

// By how much the new blocks rose while they were measured, inside themselves or from one to the next; 1 when they did not.
double drift_of(const Measurement& m, const Sample& sample, double tolerate) {
  std::vector<double> inside;
  for (const Block& block : m.blocks)
    if (block.drift) inside.push_back(*block.drift);
  double drift = inside.empty() ? 1 : median(inside);
  const Trend over_blocks = trend(sample.now);
  if (over_blocks.probability < 0.05) drift = std::max(drift, over_blocks.rise);
  return drift > 1 + tolerate ? drift : 1;
}

// By how much a slower clock alone makes a call slower: the baseline's clock over the present one; 1 when it did not fall or is not known.
double clock_loss(const JudgeInput& input) {
  const std::vector<double> now = times(input.measurement->blocks, &Block::sm_clock_mhz), &before = input.times_baseline->sm_clock_mhz;
  if (now.empty() || before.empty() || median(now) <= 0) return 1;
  return std::max(1.0, median(before) / median(now));
}

std::string clock_text(const JudgeInput& input) {
  std::string text = fmt::format("the GPU's clock fell from {:.0f} to {:.0f} MHz", median(input.times_baseline->sm_clock_mhz),
                                 median(times(input.measurement->blocks, &Block::sm_clock_mhz)));
  for (const Block& block : input.measurement->blocks)
    if (!block.throttle.empty()) return text + fmt::format(" ({})", block.throttle);
  return text;
}

std::string percent(double part) { return fmt::format("{:.3g}%", part * 100); }

// What explains the slowness, most telling first.
std::string blame(const JudgeInput& input, const LatencyGate& gate, const Sample& sample) {
  const Measurement& m = *input.measurement;
  std::vector<std::string> reasons;
  for (const Change& change : difference(input.times_baseline->kernels, m.kernels))
    if (change.what != Change::What::replaced && reasons.size() < 2) reasons.push_back(change.text);
  for (const std::string& slower : slower_operations(input.times_baseline->kernels, m.kernels, 1 + gate.tolerate))
    if (reasons.size() < 2) reasons.push_back(slower);
  // A plan made anew in every call makes the steady call as slow as the first.
  const std::vector<double> first = times(m.blocks, &Block::first_ns);
  if (gate.metric != LatencyMetric::span && !first.empty() && median(first) < 1.25 * median(sample.now) && median(sample.now) > 3 * median(sample.before))
    reasons.push_back("the steady call is as slow as the first: a plan may be made in every call");
  else if (const std::vector<double> device = device_times(m); gate.metric == LatencyMetric::host && !device.empty() &&
           median(sample.now) > 3 * median(sample.before) && median(sample.now) > 10 * median(device))
    reasons.push_back(fmt::format("the device works {} of it: a plan, a compilation or a wait in every call", duration_text(median(device))));
  return reasons.empty() ? "" : ": " + fmt::format("{}", fmt::join(reasons, "; "));
}

}  // namespace

// CUPTI counts in 32 ns on Hopper, event pairs in about half a microsecond (CUDA's manual).
double instrument_step(Instrument instrument) {
  switch (instrument) {
    case Instrument::cupti: return 32;
    case Instrument::events:
    case Instrument::graph: return 500;
    case Instrument::reported:
    case Instrument::clock: return 1;
  }
  return 1;
}

LatencyJudgement judge_latency(const JudgeInput& input, const LatencyGate& gate) {
  LatencyJudgement result;
  result.metric = name_of(gate.metric);
  if (result.message = obstacle(input, gate.metric); !result.message.empty()) return result;

  const Measurement& m = *input.measurement;
  const Sample sample = sample_of(m, *input.times_baseline, gate.metric);
  const double now = median(sample.now), before = median(sample.before);
  const Instrument instrument = gate.metric == LatencyMetric::device ? input.times_baseline->instrument : Instrument::clock;
  const double step = std::max({input.resolution_ns, instrument_step(instrument), shown_step(sample)});
  const Interval measured = ratio_interval(sample.now, sample.before);
  const Interval ratio = result.ratio = widened(measured, now, before, step);
  result.told = as_told(ratio, now, before);
  const double slower = 1 + gate.tolerate, middle = 1 + (gate.tolerate + gate.detect) / 2;
  const std::string numbers = result.numbers = fmt::format("{} {} -> {}, {}", result.metric, duration_text(before), duration_text(now), ratio_text(result.told));

  const double least = std::max(gate.floor_ns, step);
  const std::size_t blocks = sample.now.size(), confirming = std::min(kConfirmingBlocks, input.max_blocks);

  // The control rows show device times; `beyond`: this row is clearly slower than they explain.
  const Interval* const control = gate.metric == LatencyMetric::device && input.control ? &*input.control : nullptr;
  const bool beyond = control && ratio.low / control->high > slower && ratio.estimate / control->estimate >= 1 + gate.detect;

  // A baseline of a slow hour: the machine has become faster and the row has not followed, which a ratio near 1 would hide.
  if (beyond && ratio.low <= slower && control->high < 1 / slower && now - before * control->estimate > least) {
    result.open = blocks < confirming;
    result.outcome = result.open ? Outcome::undecided : Outcome::environment_shift;
    result.message = fmt::format("{}: the control rows became faster, {}, and this row did not follow", numbers, ratio_text(*control));
    return result;
  }
  if (std::fabs(now - before) <= least) {
    result.outcome = Outcome::pass;
    if (ratio.estimate > slower)
      result.message = fmt::format("{}: a difference of {} is below {}", numbers, duration_text(now - before),
                                   gate.floor_ns >= step ? "the floor of " + duration_text(gate.floor_ns) : "the clock's step of " + duration_text(step));
    return result;
  }
  if (ratio.high < 1 / slower && ratio.estimate <= 1 / middle) {
    const bool machine = control && control->estimate < 1 / slower;
    result.outcome = machine ? Outcome::pass : Outcome::improved;
    result.message = machine ? fmt::format("{}: the control rows are faster too, {}", numbers, ratio_text(*control)) : numbers;
    return result;
  }
  const bool last = m.blocks.size() >= input.max_blocks;
  result.open = !last;
  // On the last look a one-sided 95 % is enough to pass: otherwise one row in sixty of an unchanged suite would end undecided on a noisy card.
  const Interval final_ratio = last ? widened(ratio_interval(sample.now, sample.before, 0.90), now, before, step) : ratio;
  if (ratio.low > slower && ratio.estimate >= middle) {
    const double drift = drift_of(m, sample, gate.tolerate);
    // What is clear may end early; what lies between the middle and detect needs all the evidence there is, or looking often would find it by chance.
    if (blocks < confirming || (ratio.estimate < 1 + gate.detect && !last)) {
      result.outcome = Outcome::undecided;
      result.message = fmt::format("{}: to be confirmed on fresh blocks, {} so far", numbers, blocks);
    } else if (ratio.estimate / drift < middle) {
      result.outcome = Outcome::undecided;
      result.message = fmt::format("{}: the times rose by {} while they were measured (heat or throttling), which explains it", numbers, percent(drift - 1));
    } else if (const double loss = clock_loss(input); gate.metric != LatencyMetric::host && loss > slower && ratio.estimate / loss < middle) {
      result.outcome = Outcome::environment_shift;
      result.message = fmt::format("{}: {}, which explains it", numbers, clock_text(input));
      result.open = false;
    } else if (control && control->estimate > slower && !beyond) {
      result.outcome = Outcome::environment_shift;
      result.message = fmt::format("{}: the control rows moved too, {}", numbers, ratio_text(*control));
      result.open = false;
    } else {
      result.outcome = Outcome::regressed;
      result.message = fmt::format("{}, allowed {}{}", numbers, percent(gate.tolerate), blame(input, gate, sample));
      result.open = false;
    }
  } else if (final_ratio.high < 1 + gate.detect) {
    result.outcome = Outcome::pass;
    result.open = false;
  } else {
    result.outcome = Outcome::undecided;
    result.message = fmt::format("{}: {} blocks against {} cannot tell it from the allowed {}", numbers, blocks, sample.before.size(), percent(gate.tolerate));
  }
  return result;
}

std::optional<LatencyGate> host_gate(const JudgeInput& input) {
  const LatencyGate& gate = *input.gates.latency;
  if (input.measurement->device == DeviceType::cpu || gate.metric != LatencyMetric::device) return std::nullopt;
  return LatencyGate{LatencyMetric::host, std::max(gate.tolerate, 0.25), std::max(gate.detect, 0.5), std::max(gate.floor_ns, 5000.0)};
}

std::optional<Interval> control_ratio(const std::vector<ControlRow>& rows) {
  std::vector<Interval> ratios;
  for (const ControlRow& row : rows) {
    if (!row.measurement || !row.baseline || row.measurement->cache != row.baseline->cache) continue;
    std::vector<double> now;
    for (const Block& block : row.measurement->blocks)
      if (block.device_ns && block.instrument == row.baseline->instrument) now.push_back(*block.device_ns);
    if (!now.empty() && !row.baseline->device_ns.empty()) ratios.push_back(ratio_interval(now, row.baseline->device_ns));
  }
  if (ratios.empty()) return std::nullopt;
  std::ranges::stable_sort(ratios, {}, &Interval::estimate);
  return ratios[(ratios.size() - 1) / 2];
}

}  // namespace attn
