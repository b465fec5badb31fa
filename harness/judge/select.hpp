#pragma once
// Which gates, expectations and waivers speak of a row.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/environment.hpp"
#include "core/suite.hpp"

namespace attn {

// What a selector is held against.
struct RowFacts {
  std::string backend, case_id;
  std::vector<std::string> tags;
  DeviceType device = DeviceType::cpu;
  std::string arch;
  std::map<std::string, LibraryVersion> libraries;
};

RowFacts row_facts(const Trial& trial, const Environment& environment);

// Every field that says something must fit. `arch` fits in full ("cuda.sm90") or without the device ("sm90"); a library not loaded fits no condition.
// Throws Error for a regular expression or a version condition that is none.
bool selects(const Selector& selector, const RowFacts& row);

// ">=2.11", "<9.20", "==2.11.*", several joined by commas. Numbers are compared part by part, missing parts are 0, a build tag ("+cu130") is ignored, a
// pre-release ("2.12.0a0", "2.12.dev3") comes before its release. Throws Error when `condition` is no condition.
bool version_satisfies(const std::string& version, const std::string& condition);

// The defaults with every rule that selects the row laid over them, in order; only gates in `enabled` (from --gates) stay on.
// `latency` is always set on return: the device's default tolerances where the rules name none.
Gates gates_for(const RowFacts& row, const std::vector<GateRule>& rules, const std::set<Gate>& enabled);
LatencyGate default_latency_gate(DeviceType device);

std::vector<Expectation> expectations_for(const RowFacts& row, const std::vector<Expectation>& expectations);
// Those that select none of the rows: most often a misspelled name, which must not pass for a kept promise.
std::vector<Expectation> unmatched_expectations(const std::vector<Expectation>& expectations, const std::vector<RowFacts>& rows);

}  // namespace attn
