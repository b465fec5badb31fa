#pragma once
// One read-only SQL statement on a history database: what `attn-regress sql` and the reports ask.

#include <filesystem>
#include <string>
#include <vector>

#include "sqlite/statement.hpp"

namespace attn {

// NULL, a whole number, a number, text.
using Cell = SqlValue;

struct QueryResult {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
};

// `parameters` are bound to ?1, ?2, ... Throws Error when the file is missing or no history database, when `sql` is not exactly one statement, would write
// anything or attach another file, with SQLite's own text when it is wrong.
QueryResult query(const std::filesystem::path& file, const std::string& sql, const std::vector<Cell>& parameters = {});

}  // namespace attn
