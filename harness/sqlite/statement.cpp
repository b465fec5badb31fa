#include "sqlite/statement.hpp"

#include <cmath>

namespace attn {
namespace {

const char* type_name(int type) {
  switch (type) {
    case SQLITE_INTEGER: return "an integer";
    case SQLITE_FLOAT: return "a real number";
    case SQLITE_TEXT: return "text";
    case SQLITE_BLOB: return "a blob";
    default: return "NULL";
  }
}

}  // namespace

Statement::Statement(Database& database, const std::string& sql) : path_(database.path()) {
  const char* rest = nullptr;
  const int code = sqlite3_prepare_v2(database.get(), sql.c_str(), static_cast<int>(sql.size()) + 1, handle_.out(), &rest);
  if (code != SQLITE_OK) throw_sqlite_error(path_, code, sqlite3_errmsg(database.get()), sql);
  if (!handle_) throw Error(fmt::format("{}: no SQL statement in: {}", path_, sql), Fault::internal);
  // Prepare once more to tell trailing spaces and comments from a second statement.
  Handle<sqlite3_stmt*, sqlite3_finalize> second;
  const int second_code = sqlite3_prepare_v2(database.get(), rest, -1, second.out(), nullptr);
  if (second_code != SQLITE_OK || second) throw Error(fmt::format("{}: more than one SQL statement in: {}", path_, sql), Fault::internal);
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  has_row_ = code == SQLITE_ROW;
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    const std::string text = sqlite3_errmsg(sqlite3_db_handle(handle_.get()));
    sqlite3_reset(handle_.get());  // an open statement would keep its locks
    throw_sqlite_error(path_, code, text, sqlite3_sql(handle_.get()));
  }
  return has_row_;
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() {
  sqlite3_reset(handle_.get());  // its code repeats the last step's error, which was thrown then
  has_row_ = false;
}

std::string Statement::name(int column) const {
  const char* text = sqlite3_column_name(handle_.get(), column);
  if (!text) throw Error(fmt::format("{}: no column {} in: {}", path_, column, sqlite3_sql(handle_.get())), Fault::internal);
  return text;
}

void Statement::check(int code) {
  if (code != SQLITE_OK) throw_sqlite_error(path_, code, sqlite3_errmsg(sqlite3_db_handle(handle_.get())), sqlite3_sql(handle_.get()));
}

void Statement::bind_null(int position) { check(sqlite3_bind_null(handle_.get(), position)); }
void Statement::bind_integer(int position, std::int64_t value) { check(sqlite3_bind_int64(handle_.get(), position, value)); }
void Statement::bind_double(int position, double value) {
  if (!std::isfinite(value)) return bind_null(position);  // SQLite stores infinities, but no reader of the file expects them
  check(sqlite3_bind_double(handle_.get(), position, value));
}
void Statement::bind_text(int position, std::string_view value) {
  // A null pointer would bind NULL instead of empty text.
  check(sqlite3_bind_text64(handle_.get(), position, value.data() ? value.data() : "", value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

int Statement::require(int column, const char* wanted, int type, int other_type) const {
  const auto fail = [&](const std::string& message) {
    throw Error(fmt::format("{}: {} in: {}", path_, message, sqlite3_sql(handle_.get())), Fault::internal);
  };
  if (!has_row_) fail("no row to read a column from");
  if (column < 0 || column >= columns()) fail(fmt::format("no column {}", column));
  const int found = sqlite3_column_type(handle_.get(), column);
  if (wanted && found != type && found != other_type) fail(fmt::format("column {} is {}, wanted is {}", name(column), type_name(found), wanted));
  return found;
}

std::int64_t Statement::integer(int column) const {
  require(column, "an integer", SQLITE_INTEGER, SQLITE_INTEGER);
  return sqlite3_column_int64(handle_.get(), column);
}

double Statement::real(int column) const {
  require(column, "a number", SQLITE_FLOAT, SQLITE_INTEGER);
  return sqlite3_column_double(handle_.get(), column);
}

std::string Statement::text(int column) const {
  require(column, "text", SQLITE_TEXT, SQLITE_TEXT);
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

SqlValue Statement::value(int column) const {
  switch (require(column, nullptr, 0, 0)) {
    case SQLITE_INTEGER: return integer(column);
    case SQLITE_FLOAT: return real(column);
    case SQLITE_TEXT: return text(column);
    case SQLITE_BLOB: {
      const auto* data = static_cast<const char*>(sqlite3_column_blob(handle_.get(), column));
      return std::string(data ? data : "", static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column)));
    }
    default: return nullptr;
  }
}

bool Statement::is_null(int column) const { return require(column, nullptr, 0, 0) == SQLITE_NULL; }

}  // namespace attn
