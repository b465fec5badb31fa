#pragma once
// What a worker is asked to do for one row.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/records.hpp"
#include "core/suite.hpp"

namespace attn {

// Whether the backend can do it, and no more.
Request support_request(const Trial& trial, const std::string& backend);

// In their order. On a GPU the records of CUPTI come in a request of their own, to be sent after the bare calls of every row of the worker: CUPTI, once attached,
// would be in all their host times. `measurement`: device, and whether the row is a control row. `whole`: everything; else times alone.
std::vector<Request> requests_for(const Trial& trial, const std::string& backend, const Measurement& measurement, const std::set<Gate>& gates, std::uint64_t seed,
                                  bool whole);

}  // namespace attn
