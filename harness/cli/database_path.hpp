#pragma once
// Where the history lies.

#include <optional>
#include <string>

#include "cli/subcommand.hpp"
#include "core/run_result.hpp"
#include "store/history.hpp"

namespace attn {

// Adds `--db FILE`.
void add_database(CLI::App& app, std::string& path);
// The option, else $ATTN_REGRESS_DB, else .attn-regress/history.db under the working directory.
std::string database_path(const std::string& option);

// The run with `run_id`, or the newest one with a measurement of `suite` (empty = of any suite). Throws Error when there is none.
RunResult stored_run(const std::string& database, const std::string& run_id, const std::string& suite);

}  // namespace attn
