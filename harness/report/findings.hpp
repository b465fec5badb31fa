#pragma once
// The part of the terminal report below the table: what needs a look, what was left out, what could not be judged.

#include <string>

#include "core/run_result.hpp"
#include "report/table.hpp"

namespace attn {

// One block per row that failed, could not be judged or is waived, the worst first. Rows without a result that have one reason, and printed the same, share
// the block of the first. A block ends with the command that reproduces its row. Then the rows that were skipped or unsupported, by reason; the gates that
// could not be judged, by reason; the run's warnings. Empty when there is nothing to say.
std::string findings(const RunResult& run, const TableOptions& options);

}  // namespace attn
