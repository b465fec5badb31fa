#include "store/history_file.hpp"

#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string_view>
#include <thread>

#include "store/schema.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr auto kBusyTimeout = std::chrono::seconds(30);
constexpr auto kNewest = static_cast<std::int64_t>(kMigrations.size());

// Reads the file's own bytes, because SQLite may roll back or checkpoint a database by merely opening it, and this one may be another application's.
// The format: sqlite.org/fileformat2.html, section 1.3.
void check_header(const fs::path& file) {
  if (fs::is_directory(file)) throw Error(fmt::format("{}: found a folder, expected a history database", file.string()));
  std::array<char, 100> header{};
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(fmt::format("{}: cannot be read: {}", file.string(), std::strerror(errno)));
  in.read(header.data(), header.size());
  if (in.gcount() == 0) return;  // new, or its creator was killed before the first commit
  constexpr std::string_view magic("SQLite format 3\0", 16);
  if (in.gcount() < 100 || std::string_view(header.data(), magic.size()) != magic)
    throw Error(fmt::format("{}: this file is no SQLite database; it was left as it is", file.string()));
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(header[i]);
    return value;
  };
  const std::uint32_t id = number(68);
  const bool holds_nothing = id == 0 && number(40) == 0 && number(60) == 0;  // schema cookie, user version: as a creator that was killed leaves it
  if (id != static_cast<std::uint32_t>(kApplicationId) && !holds_nothing)
    throw Error(fmt::format("{}: this database belongs to another application (application_id 0x{:08x}, ours is 0x{:08x}); it was left as it is",
                            file.string(), id, kApplicationId));
}

void check_not_newer(Database& database) {
  if (const std::int64_t version = database.user_version(); version > kNewest)
    throw Error(fmt::format("{}: written by a newer attn-regress (schema {}, this program knows up to {}); update the program", database.path(), version,
                            kNewest));
}

// Every step in one transaction, which looks again at the version: another process may have been faster.
void migrate(Database& database) {
  if (database.user_version() == kNewest) return;
  database.exec("PRAGMA auto_vacuum = INCREMENTAL");  // only takes effect in a new file: lets prune give space back
  Transaction transaction(database);
  check_not_newer(database);
  for (std::int64_t version = database.user_version(); version < kNewest; ++version) database.exec(kMigrations[static_cast<std::size_t>(version)]);
  for (const View& view : kViews) database.exec(fmt::format("DROP VIEW IF EXISTS {0}; CREATE VIEW {0} AS {1}", view.name, view.select));
  database.set_application_id(kApplicationId);
  database.set_user_version(static_cast<std::int32_t>(kNewest));
  transaction.commit();
}

// SQLite does not wait for other connections when the mode changes, so this does, for a moment: without WAL the file works just as well, only slower. With WAL,
// `NORMAL` spares a sync per commit: a power cut may take the last commits, never the file.
void set_journal_mode(Database& database) {
  const char* sql = on_network(database.path()) ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL";
  for (int tries = 0; tries < 50; ++tries) {
    const int code = sqlite3_exec(database.get(), sql, nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return;
    if ((code & 0xff) != SQLITE_BUSY && (code & 0xff) != SQLITE_LOCKED) throw_sqlite_error(database.path(), code, sqlite3_errmsg(database.get()), sql);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

bool is_network_file_system(unsigned long type) {
  constexpr std::array<unsigned long, 14> types{
      0x6969,      // NFS
      0x517B,      // SMB
      0xFF534D42,  // CIFS
      0xFE534D42,  // SMB2
      0x01021997,  // 9p
      0x65735546,  // FUSE: sshfs, gcsfuse, virtiofs
      0x0BD00BD0,  // Lustre
      0x00C36400,  // Ceph
      0x47504653,  // GPFS
      0x19830326,  // BeeGFS
      0x5346414F,  // AFS
      0x73757245,  // Coda
      0x6B414653,  // kAFS
      0xAAD7AAEA,  // PanFS
  };
  return std::find(types.begin(), types.end(), type & 0xFFFFFFFF) != types.end();
}

bool on_network(const fs::path& file) {
  struct statfs facts {};
  return statfs(file.c_str(), &facts) == 0 && is_network_file_system(static_cast<unsigned long>(facts.f_type));
}

Database open_history(const fs::path& file, HistoryAccess access) {
  const bool create = access == HistoryAccess::create;
  if (fs::exists(file)) {
    check_header(file);
  } else if (!create) {
    throw Error(fmt::format("{}: there is no such history database; `attn-regress run` makes one", file.string()));
  } else if (file.has_parent_path()) {
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    if (error) throw Error(fmt::format("{}: cannot make the folder: {}", file.parent_path().string(), error.message()));
  }
  const OpenMode mode = create ? OpenMode::create : access == HistoryAccess::write ? OpenMode::read_write : OpenMode::read_only;
  Database database(file.string(), mode, kBusyTimeout);
  check_not_newer(database);
  if (access == HistoryAccess::read) {
    if (const std::int64_t version = database.user_version(); version < kNewest)
      throw Error(fmt::format("{}: written by an older attn-regress (schema {}, this program wants {}); `attn-regress history --db {}` brings it up to date",
                              file.string(), version, kNewest, file.string()));
    return database;
  }
  migrate(database);
  set_journal_mode(database);
  database.exec("PRAGMA foreign_keys = ON");
  return database;
}

}  // namespace attn
