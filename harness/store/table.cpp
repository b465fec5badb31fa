#include "store/table.hpp"

namespace attn {
namespace {

void bind_cell(Statement& statement, int position, const Cell& cell) {
  std::visit([&](const auto& value) { statement.bind(position, value); }, cell);
}

// Names may come from another file's tables.
std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

void bind_columns(Statement& statement, const Columns& columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) bind_cell(statement, static_cast<int>(i) + 1, columns[i].second);
}

}  // namespace

std::int64_t insert(Database& database, const std::string& table, const Columns& columns) {
  std::string names, places;
  for (const auto& [name, unused] : columns) {
    names += (names.empty() ? "" : ", ") + quoted(name);
    places += places.empty() ? "?" : ", ?";
  }
  Statement statement(database, fmt::format("INSERT INTO {} ({}) VALUES ({})", table, names, places));
  bind_columns(statement, columns);
  statement.run();
  return database.last_insert_rowid();
}

bool update(Database& database, const std::string& table, std::int64_t id, const Columns& columns) {
  std::string settings;
  for (const auto& [name, unused] : columns) settings += (settings.empty() ? "" : ", ") + quoted(name) + " = ?";
  Statement statement(database, fmt::format("UPDATE {} SET {} WHERE id = ?", table, settings));
  bind_columns(statement, columns);
  statement.bind(static_cast<int>(columns.size()) + 1, id);
  statement.run();
  return database.changes() > 0;
}

std::vector<StoredRow> select(Database& database, const std::string& sql, const std::vector<Cell>& parameters) {
  Statement statement(database, sql);
  for (std::size_t i = 0; i < parameters.size(); ++i) bind_cell(statement, static_cast<int>(i) + 1, parameters[i]);
  std::vector<StoredRow> rows;
  while (statement.step()) {
    StoredRow& row = rows.emplace_back();
    for (int i = 0; i < statement.columns(); ++i) row[statement.name(i)] = statement.get<SqlValue>(i);
  }
  return rows;
}

}  // namespace attn
