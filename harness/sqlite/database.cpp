#include "sqlite/database.hpp"

#include "sqlite/statement.hpp"

namespace attn {
namespace {

std::int64_t single_integer(Database& database, const std::string& sql) {
  Statement statement(database, sql);
  statement.step();
  return statement.get<std::int64_t>(0);
}

}  // namespace

void throw_sqlite_error(const std::string& path, int code, const std::string& text, const std::string& doing) {
  switch (code & 0xff) {  // the low byte of an extended code is the primary one
    case SQLITE_CANTOPEN: throw Error(fmt::format("{}: {}; does the folder exist, and may you write there?", path, text));
    case SQLITE_NOTADB: throw Error(fmt::format("{}: {}", path, text));
    case SQLITE_BUSY:
    case SQLITE_LOCKED: throw Error(fmt::format("{}: {}; another process holds it, try again when that is done", path, text));
    case SQLITE_CORRUPT: throw Error(fmt::format("{}: {}; the file is damaged: {}", path, text, kMendOfDamage));
    case SQLITE_READONLY:
    case SQLITE_PERM: throw Error(fmt::format("{}: {}; may you write there?", path, text));
    case SQLITE_IOERR:
    case SQLITE_FULL: throw Error(fmt::format("{}: {}; is the disk full?", path, text));
    default: throw Error(fmt::format("{}: {} (SQLite code {}) in: {}", path, text, code, doing), Fault::internal);
  }
}

Database::Database(const std::string& path, OpenMode mode, std::chrono::milliseconds busy_timeout) : path_(path) {
  int flags = SQLITE_OPEN_EXRESCODE;
  flags |= mode == OpenMode::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (mode == OpenMode::create) flags |= SQLITE_OPEN_CREATE;
  // SQLite leaves a handle, and its text, also when opening fails.
  if (const int code = sqlite3_open_v2(path.c_str(), handle_.out(), flags, nullptr); code != SQLITE_OK)
    throw_sqlite_error(path_, code, handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code), "open");
  sqlite3_busy_timeout(handle_.get(), static_cast<int>(busy_timeout.count()));
  exec("PRAGMA schema_version");  // opening is lazy: this reads the header
}

void Database::exec(const std::string& sql) {
  if (const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr); code != SQLITE_OK)
    throw_sqlite_error(path_, code, sqlite3_errmsg(handle_.get()), sql);
}

std::int64_t Database::user_version() { return single_integer(*this, "PRAGMA user_version"); }
void Database::set_user_version(std::int32_t version) { exec(fmt::format("PRAGMA user_version = {}", version)); }
std::int64_t Database::application_id() { return single_integer(*this, "PRAGMA application_id"); }
void Database::set_application_id(std::int32_t id) { exec(fmt::format("PRAGMA application_id = {}", id)); }

Transaction::Transaction(Database& database) : database_(database) { database_.exec("BEGIN IMMEDIATE"); }

Transaction::~Transaction() {
  // Some errors have rolled back already; a second rollback would only say that nothing is open.
  if (open_ && !sqlite3_get_autocommit(database_.get())) sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_.exec("COMMIT");
  open_ = false;
}

}  // namespace attn
