#pragma once
// Which rows an entry of `gates`, `expect` or `waive` speaks of.

#include "core/suite.hpp"
#include "yaml/read.hpp"

namespace attn {

// The keys of every such entry, and with its own ones behind.
WordList selector_keys(const WordList& more);

// Reads them, and holds them against the suite's cases and backends: an entry that could never fit a row is a mistake. Throws Error at its place.
Selector read_selector(const MapReader& map, const Suite& suite);

// The suite's cases that it selects, whatever the backend and the device.
std::vector<const SuiteCase*> selected_cases(const Selector& selector, const Suite& suite);

}  // namespace attn
