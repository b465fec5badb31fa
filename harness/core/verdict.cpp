#include "core/verdict.hpp"

namespace attn {

ExitCode run_exit_code(const std::vector<Outcome>& outcomes, bool require_baseline) {
  bool failed = false, unclear = false, judged = false;
  for (const Outcome outcome : outcomes) {
    failed |= exit_code(outcome) == 1;
    unclear |= exit_code(outcome) == 5 || (require_baseline && outcome == Outcome::no_baseline);
    judged |= outcome != Outcome::skipped && outcome != Outcome::unsupported;
  }
  if (failed) return ExitCode::gate_failed;
  return unclear || !judged ? ExitCode::cannot_judge : ExitCode::pass;
}

}  // namespace attn
