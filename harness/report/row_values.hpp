#pragma once
// What every report shows of a row: medians over its blocks, the change against its baseline, what went wrong first.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/run_result.hpp"

namespace attn {

// Median over the blocks that have the time; empty when none has.
std::optional<double> median_time(const Measurement& measurement, std::optional<double> Block::*metric);
// Median device time over the baseline's: new/old. Empty without either.
std::optional<double> device_ratio(const Row& row);
// The time of one call on the host is worth a look: on a device other than the CPU, when enqueueing takes at least half as long as the work.
std::optional<double> notable_host_ns(const Measurement& measurement);

// Smaller = worse: wrong, crashed, failed, timed_out, regressed, then what could not be judged, then waived, then the rest.
int severity(Outcome outcome);
// Rows that a reader must look at (failed, not judged, waived), the worst first; among equals the largest latency change first, then the order of the run.
// What is there to be compared with comes last.
std::vector<const Row*> notable_rows(const RunResult& run);

// What the run's verdict is made of: neither a control row nor what is there to be compared with.
bool is_judged(const Row& row);
// " on side a"; empty where there are no sides.
std::string side_text(const Trial& trial);

// Judged rows per outcome.
std::map<Outcome, std::size_t> outcome_counts(const RunResult& run);
// "exit 1: a gate failed in 3 rows": the exit code and why it is that.
std::string exit_meaning(const RunResult& run);

// "suites/llama.yaml:14", as far as known: where the expectation that spoke stands, or else the case.
std::string place_text(const Trial& trial, int line = 0);

}  // namespace attn
