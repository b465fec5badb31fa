#pragma once
// A measurement against its gates, expectations and baselines: the verdict, and what to blame. No input or output, no clock: same input, same verdict.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/baseline.hpp"
#include "core/environment.hpp"
#include "core/measurement.hpp"
#include "core/suite.hpp"
#include "core/verdict.hpp"
#include "judge/select.hpp"
#include "stats/interval.hpp"

namespace attn {

// The measurements beside one in a sweep: a size one smaller and one larger.
struct SweepPair {
  const Measurement* before = nullptr;
  const Measurement* after = nullptr;
};

// The row of another size that one is held against.
struct OtherRow {
  std::string case_id;
  const Measurement* measurement = nullptr;  // null: no part of this run
};

// Pointers may be null where said so; what they point at must outlive the call.
struct JudgeInput {
  const Measurement* measurement = nullptr;  // accounted (accounting/account.hpp), all blocks measured so far
  const Environment* environment = nullptr;  // of this measurement; null: no causes are named
  bool loaded = true;                        // the backend came up, now and in the baseline as far as is known
  Gates gates;                               // gates_for(...)
  std::vector<Expectation> expectations;     // expectations_for(...)
  const Baseline* counts_baseline = nullptr; // looked up by arch; null: none
  const Baseline* times_baseline = nullptr;  // looked up by platform; null: none
  std::optional<Interval> control;           // how the control rows moved, control_ratio(...); empty: no control rows
  std::vector<SweepPair> beside;             // sweep_neighbours(...)
  std::map<SizeAxis, OtherRow> smaller;      // of the same backend, smaller_case(...), for the sizes that expectations name; no entry: there is none
  std::map<std::string, const Measurement*> other_backends;  // of the same case, for those that expectations name; no entry: no part of this run
  std::size_t max_blocks = 5;                // the parent will measure no more than this
  double resolution_ns = 0;                  // of the clock, when known to be coarser than the instrument's own
  bool tell_times = false;                   // a finding of the times also where there is nothing to complain of: somebody asked for the comparison
  std::string latency_blocked;               // not empty: latency is not judged, and why ("another process computes on GPU 0")
};

Verdict judge(const JudgeInput& input);

// True when the latency is not settled and more blocks, measured in fresh processes and pooled with those there are, may settle it: a suspicion is confirmed
// or cleared on fresh data, never rerun until it looks good. False once max_blocks are measured, or when the row fails for another reason anyway.
bool wants_more_blocks(const JudgeInput& input);

// One control row now and in the baseline.
struct ControlRow {
  const Measurement* measurement = nullptr;
  const Baseline* baseline = nullptr;  // by platform; rows without one are left out
};
// How the machine moved: the middle one of the rows' ratios (device time). Empty when no row can be compared.
std::optional<Interval> control_ratio(const std::vector<ControlRow>& rows);

// Failures that a waiver covers become `waived`, shown with its reason and its last day; an expired waiver changes the message alone.
// `today` is an ISO date.
Verdict apply_waivers(Verdict verdict, const std::vector<Waiver>& waivers, const RowFacts& row, const std::string& today);

// "torch 2.10.0 -> 2.11.0, OMP_NUM_THREADS unset -> 1": what differs between the baseline's libraries and switches and now; empty when nothing is known to.
// `loaded`: the backend came up on both occasions. Where it did not, what it would have brought along is no cause but a consequence.
std::string cause_of_change(const Baseline& baseline, const Environment& environment, bool loaded);

}  // namespace attn
