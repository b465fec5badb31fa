#include "cli/database_path.hpp"

#include <cstdlib>

#include "cli/option_values.hpp"
#include "yaml/nearest.hpp"

namespace attn {

void add_database(CLI::App& app, std::string& path) {
  add_value(app, "--db", path, parse_text, "FILE", "History database; default $ATTN_REGRESS_DB, else .attn-regress/history.db");
}

std::string database_path(const std::string& option) {
  if (!option.empty()) return option;
  const char* variable = std::getenv("ATTN_REGRESS_DB");
  return variable && *variable ? variable : ".attn-regress/history.db";
}

RunResult stored_run(const std::string& database, const std::string& run_id, const std::string& suite) {
  History history = History::open_existing(database);
  if (!run_id.empty()) return history.load(run_id);
  const auto newest = history.latest_run_id(suite);
  if (newest) return history.load(*newest);
  throw Error(fmt::format("{}: holds no run{}; `attn-regress run` makes one", database, suite.empty() ? "" : " of suite " + quote(suite)));
}

}  // namespace attn
