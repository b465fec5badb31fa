#pragma once
// Rows in and out of tables by column name.

#include <string>
#include <vector>

#include "store/columns.hpp"

namespace attn {

// Returns the new row's id.
std::int64_t insert(Database& database, const std::string& table, const Columns& columns);
// Sets the columns of the row with `id`; says whether there was one.
bool update(Database& database, const std::string& table, std::int64_t id, const Columns& columns);
// `parameters` are bound to ?1, ?2, ...
std::vector<StoredRow> select(Database& database, const std::string& sql, const std::vector<Cell>& parameters = {});

// Until it ends, all reads see the database as it was at the first of them.
class ReadTransaction {
 public:
  explicit ReadTransaction(Database& database) : database_(database) { database_.exec("BEGIN"); }
  ~ReadTransaction() { sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr); }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;

 private:
  Database& database_;
};

}  // namespace attn
