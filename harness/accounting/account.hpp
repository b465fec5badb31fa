#pragma once
// From the raw records of the accounting phase to counts per call, the multiset of a call and its kernel path.

#include <optional>
#include <string>
#include <vector>

#include "accounting/rules.hpp"
#include "core/measurement.hpp"

namespace attn {

struct Account {
  Counts counts;                  // ranges over the calls; empty where nothing could be counted
  std::vector<KernelRow> kernels; // the multiset, by first occurrence
  std::optional<KernelPath> kernel_path;  // `unknown` when the calls disagree
  std::string error;              // not empty: the records cannot be trusted, the measurement is cannot_measure; all else is then empty
};

// No calls: nothing is counted. Records that end before they start, carry no time or a senseless one give `error`.
Account account(const std::vector<CallActivities>& calls, const Rules& rules);

// Account's fields into the measurement; an error turns `ok` into cannot_measure with the error as reason.
void apply(const Account& account, Measurement& measurement);

}  // namespace attn
