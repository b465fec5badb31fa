#pragma once
// What was judged of one measurement, and what the whole run amounts to.

#include <optional>
#include <string>
#include <vector>

#include "core/measurement.hpp"

namespace attn {

// One thing that a gate or an expectation said, the worst first.
struct Finding {
  std::optional<Gate> gate;      // empty: not of a gate (a status, a lost support)
  std::string metric;            // "kernels", "copies", "copy_bytes", "memsets", "class", "kernel_path", "device_ns", "peak_bytes", "prepare_peak_bytes", "numerics", "status"
  Outcome outcome = Outcome::regressed;
  std::string message;           // what was found, what is allowed: "+1 memcpy cpu_memcpy_scores of 268435456 B after cpu_scale"
  std::optional<double> ratio, low, high;  // new/old with its interval, 1.0 means equal
  std::optional<double> threshold;         // the ratio or value that was allowed
  std::string cause;             // "torch 2.10 -> 2.11"; empty when nothing is known to have changed
  int line = 0;                  // of the suite file, when an expectation spoke
  static void fields(auto& self, auto&& visit) {
    visit("gate", self.gate);
    visit("metric", self.metric);
    visit("outcome", self.outcome);
    visit("message", self.message);
    visit("ratio", self.ratio);
    visit("low", self.low);
    visit("high", self.high);
    visit("threshold", self.threshold);
    visit("cause", self.cause);
    visit("line", self.line);
  }
};

struct Verdict {
  Outcome outcome = Outcome::pass;
  std::string reason;                  // the first finding in one line; empty when there is nothing to say
  std::vector<Finding> findings;
  std::vector<std::string> not_judged;  // gates that could not be judged, each with the reason: "kernels: the backend reports no operations"
  static void fields(auto& self, auto&& visit) {
    visit("outcome", self.outcome);
    visit("reason", self.reason);
    visit("findings", self.findings);
    visit("not_judged", self.not_judged);
  }
};

// DESIGN section 3: what an outcome means for the process. 0 pass, 1 a gate failed, 5 cannot judge.
constexpr int exit_code(Outcome outcome) {
  if (outcome >= Outcome::regressed) return 1;
  if (outcome >= Outcome::undecided) return 5;
  return 0;
}

// 0 pass, 1 a gate failed, 2 interrupted, 3 internal error, 4 usage or input error, 5 cannot judge.
enum class ExitCode { pass = 0, gate_failed = 1, interrupted = 2, internal_error = 3, usage_error = 4, cannot_judge = 5 };

// The run's: 1 wins over 5; 5 also when nothing at all was judged (no row ended in pass, improved, no_baseline, waived or a failure).
ExitCode run_exit_code(const std::vector<Outcome>& outcomes, bool require_baseline);

}  // namespace attn
