#include "store/query.hpp"

#include "store/history_file.hpp"

namespace attn {
namespace {

// What is wrong with `sql` is the user's to mend, whatever SQLite calls it.
template <class Step>
auto as_input_error(Step step) {
  try {
    return step();
  } catch (const Error& error) {
    throw Error(error.what(), Fault::input);
  }
}

}  // namespace

QueryResult query(const std::filesystem::path& file, const std::string& sql, const std::vector<Cell>& parameters) {
  Database database = open_history(file, HistoryAccess::read);
  database.exec("PRAGMA query_only = ON");
  sqlite3_limit(database.get(), SQLITE_LIMIT_ATTACHED, 0);  // ATTACH counts as reading, but would open any file
  return as_input_error([&] {
    Statement statement(database, sql);
    if (!statement.read_only()) throw Error(fmt::format("{}: only statements that read are allowed, this one writes: {}", file.string(), sql));
    for (std::size_t i = 0; i < parameters.size(); ++i)
      std::visit([&](const auto& value) { statement.bind(static_cast<int>(i) + 1, value); }, parameters[i]);
    QueryResult result;
    for (int i = 0; i < statement.columns(); ++i) result.columns.push_back(statement.name(i));
    while (statement.step()) {
      auto& row = result.rows.emplace_back();
      for (int i = 0; i < statement.columns(); ++i) row.push_back(statement.get<SqlValue>(i));
    }
    return result;
  });
}

}  // namespace attn
