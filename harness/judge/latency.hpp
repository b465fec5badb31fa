#pragma once
// One metric of time against its baseline: the rule that says regressed, and when to measure more before saying it.

#include <optional>
#include <string>

#include "judge/judge.hpp"

namespace attn {

// What one comparison of times gave.
struct LatencyJudgement {
  std::string metric;                 // "device_ns"
  std::optional<Outcome> outcome;     // empty: not judged, `message` says why. Else pass, improved, undecided, environment_shift or regressed
  Interval ratio;                     // what is judged
  Interval told;                      // what is said of it, as_told(...)
  std::string message;
  std::string numbers;                // "device_ns 1.2 ms -> 1.3 ms, 1.08x (1.05x to 1.11x)"; empty: not judged
  bool open = false;                  // more blocks may settle it
};

// Regressed: the 95 % interval lies above 1 + tolerate and the estimate at or above the middle of tolerate and detect, on three blocks when it reaches
// detect, else on all that may be measured, and neither drift nor the control rows explain it. Pass: the interval ends below 1 + detect. Improved: as
// regressed, turned around. Else undecided. What this gives on pure noise, and what it finds, is simulated in tests/unit/judge/latency_test.cpp.
LatencyJudgement judge_latency(const JudgeInput& input, const LatencyGate& gate);

// What the clock cannot tell apart, in ns.
double instrument_step(Instrument instrument);

// The host's time on a device that computes by itself: an enqueue that became slow hides behind device times. Wide limits, for it is noisy.
std::optional<LatencyGate> host_gate(const JudgeInput& input);

}  // namespace attn
