#include "judge/judge.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "judge/counts.hpp"
#include "judge/expectations.hpp"
#include "judge/latency.hpp"
#include "judge/memory.hpp"
#include "judge/memory_slope.hpp"
#include "judge/sweep.hpp"
#include "judge/time_ratio.hpp"

namespace attn {
namespace {

bool was_ok(const Baseline* baseline) { return baseline && baseline->status == Status::ok; }

Finding status_finding(Outcome outcome, std::string message) {
  Finding finding;
  finding.metric = "status";
  finding.outcome = outcome;
  finding.message = std::move(message);
  return finding;
}

std::string with_reason(std::string text, const std::string& reason) { return reason.empty() ? text : text + ": " + reason; }

Finding wrong_finding(const Measurement& m) {
  const Numerics& n = m.numerics;
  std::string text = m.reason.empty() ? "wrong result" : m.reason;
  if (m.reason.empty() && n.max_abs_error && n.max_budget) text += fmt::format(": max error {:.3g}, allowed {:.3g}", *n.max_abs_error, *n.max_budget);
  if (!n.diagnosis.empty() && text.find(n.diagnosis) == std::string::npos) text += "; " + n.diagnosis;
  Finding finding = status_finding(Outcome::wrong, std::move(text));
  finding.gate = Gate::numerics;
  finding.metric = "numerics";
  if (n.max_abs_error && n.max_budget) finding.threshold = n.max_budget;
  return finding;
}

void judge_unsupported(const JudgeInput& input, Verdict& verdict) {
  const std::string& reason = input.measurement->reason;
  for (const Expectation& expectation : input.expectations)
    if (expectation.supported == true) {
      Finding finding = status_finding(Outcome::regressed, with_reason("unsupported, expected to be supported", reason));
      finding.line = expectation.place.line;
      verdict.findings.push_back(std::move(finding));
    }
  if (was_ok(input.counts_baseline) || was_ok(input.times_baseline))
    verdict.findings.push_back(status_finding(Outcome::regressed, with_reason("unsupported, ok in the baseline", reason)));
  verdict.outcome = Outcome::unsupported;
  verdict.reason = reason;
}

Finding latency_finding(const LatencyJudgement& judgement, const LatencyGate& gate) {
  Finding finding;
  finding.gate = Gate::latency;
  finding.metric = judgement.metric;
  finding.outcome = *judgement.outcome;
  finding.message = judgement.message;
  finding.ratio = judgement.told.estimate;
  finding.low = judgement.told.low;
  if (std::isfinite(judgement.told.high)) finding.high = judgement.told.high;
  finding.threshold = 1 + gate.tolerate;
  return finding;
}

// What latency has to say; true when more blocks may change it.
bool judge_times(const JudgeInput& input, Verdict& verdict) {
  if (!input.gates.enabled.contains(Gate::latency) || !input.gates.latency) return false;
  bool open = judge_sweep(input, verdict);
  open |= judge_time_ratios(input, verdict);
  LatencyJudgement main = judge_latency(input, *input.gates.latency);
  if (input.tell_times && main.message.empty()) main.message = main.numbers;
  open |= main.open;
  if (!main.outcome) verdict.not_judged.push_back("latency: " + main.message);
  else if (*main.outcome != Outcome::pass || !main.message.empty()) verdict.findings.push_back(latency_finding(main, *input.gates.latency));

  if (const std::optional<LatencyGate> gate = host_gate(input)) {
    const LatencyJudgement host = judge_latency(input, *gate);
    if (host.outcome == Outcome::regressed) verdict.findings.push_back(latency_finding(host, *gate));
    if (host.outcome == Outcome::undecided) {
      verdict.not_judged.push_back(fmt::format("latency on the host: too noisy to tell from the allowed {:.0f}%", gate->tolerate * 100));
      open |= host.open && host.ratio.estimate >= 1 + gate->tolerate;
    }
  }
  return open;
}

void judge_ok(const JudgeInput& input, Verdict& verdict) {
  const Baseline* baseline = was_ok(input.counts_baseline) ? input.counts_baseline : nullptr;
  // A baseline of times alone does not stand in for one of counts: nothing would be held against it.
  const bool by_arch = std::ranges::any_of(input.gates.enabled, [](Gate gate) { return gate != Gate::latency; });
  verdict.outcome = (by_arch ? input.counts_baseline : input.times_baseline) ? Outcome::pass : Outcome::no_baseline;
  if (input.counts_baseline && !baseline)
    verdict.findings.push_back(status_finding(Outcome::improved, "ok, " + std::string(word(input.counts_baseline->status)) + " in the baseline"));
  judge_path(input, baseline, verdict);
  judge_counts(input, baseline, verdict);
  judge_expectations(input, verdict);
  judge_memory(input, baseline, verdict);
  judge_memory_slopes(input, verdict);
}

// The outcome is the worst of the findings', which then come first; the order in which they were found decides among equals: what was added or removed before
// what became slower.
void conclude(const JudgeInput& input, Verdict& verdict) {
  std::ranges::stable_sort(verdict.findings, std::greater{}, &Finding::outcome);
  const Baseline* baseline = input.counts_baseline ? input.counts_baseline : input.times_baseline;
  const std::string cause = baseline && input.environment ? cause_of_change(*baseline, *input.environment, input.loaded) : "";
  for (Finding& finding : verdict.findings)
    if (finding.outcome != Outcome::pass) finding.cause = cause;
  if (verdict.findings.empty()) return;
  verdict.outcome = std::max(verdict.outcome, verdict.findings.front().outcome);
  verdict.reason = verdict.findings.front().message;
}

Verdict judge_without_times(const JudgeInput& input) {
  const Measurement& m = *input.measurement;
  Verdict verdict;
  for (const Gate gate : input.gates.switched_off) verdict.not_judged.push_back(fmt::format("{}: switched off", word(gate)));
  switch (m.status) {
    case Status::ok: judge_ok(input, verdict); break;
    case Status::wrong: verdict.findings.push_back(wrong_finding(m)); break;
    case Status::failed: verdict.findings.push_back(status_finding(Outcome::failed, with_reason("failed", m.reason))); break;
    case Status::crashed: verdict.findings.push_back(status_finding(Outcome::crashed, with_reason("crashed", m.reason))); break;
    case Status::timed_out: verdict.findings.push_back(status_finding(Outcome::timed_out, with_reason("timed out", m.reason))); break;
    case Status::cannot_measure: verdict.findings.push_back(status_finding(Outcome::cannot_measure, with_reason("cannot measure", m.reason))); break;
    case Status::unsupported: judge_unsupported(input, verdict); break;
    case Status::skipped:
      verdict.outcome = Outcome::skipped;
      verdict.reason = m.reason;
      break;
  }
  return verdict;
}

}  // namespace

Verdict judge(const JudgeInput& input) {
  Verdict verdict = judge_without_times(input);
  if (input.measurement->status == Status::ok) judge_times(input, verdict);
  conclude(input, verdict);
  return verdict;
}

bool wants_more_blocks(const JudgeInput& input) {
  if (input.measurement->status != Status::ok || input.measurement->blocks.size() >= input.max_blocks) return false;
  Verdict verdict = judge_without_times(input);
  const bool open = judge_times(input, verdict);
  return open && std::ranges::none_of(verdict.findings, [](const Finding& finding) { return exit_code(finding.outcome) == 1; });
}

}  // namespace attn
