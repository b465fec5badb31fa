#pragma once
// SQLite's handles with owners and errors. Every failure throws Error with the file's path and SQLite's own text: Fault::input when the file cannot be
// opened, is no database or stays locked, Fault::internal for the rest.

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/handle.hpp"

namespace attn {

// What to do about a file whose content makes no sense.
inline constexpr const char* kMendOfDamage =
    "put a copy in its place, or move it away and a new one is made (`sqlite3 FILE .recover | sqlite3 NEW` saves what can be read)";

enum class OpenMode { read_only, read_write, create };

class Database {
 public:
  // `path` is a file name, never a URI; ":memory:" is a private database in memory. Reads the header, so that a file which is no database fails here.
  // Waits up to `busy_timeout` for the locks of others, now and later.
  Database(const std::string& path, OpenMode mode, std::chrono::milliseconds busy_timeout = std::chrono::seconds(10));

  // Runs any number of statements and drops their rows.
  void exec(const std::string& sql);

  // Rows that the last INSERT, UPDATE or DELETE touched.
  std::int64_t changes() const { return sqlite3_changes64(handle_.get()); }
  std::int64_t last_insert_rowid() const { return sqlite3_last_insert_rowid(handle_.get()); }

  // The two integers of the file's header that belong to the application.
  std::int64_t user_version();
  void set_user_version(std::int32_t version);
  std::int64_t application_id();
  void set_application_id(std::int32_t id);

  // As given to the constructor.
  const std::string& path() const { return path_; }
  sqlite3* get() const { return handle_.get(); }

 private:
  std::string path_;
  Handle<sqlite3*, sqlite3_close_v2> handle_;
};

// BEGIN IMMEDIATE now, so that two writers queue instead of failing at commit; rolled back unless committed.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

// The Error of a result code other than SQLITE_OK, SQLITE_ROW and SQLITE_DONE. `doing` is the statement or the step, for internal faults.
[[noreturn]] void throw_sqlite_error(const std::string& path, int code, const std::string& text, const std::string& doing);

}  // namespace attn
