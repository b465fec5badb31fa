#pragma once
// Opening a history file: that it is ours, that it is up to date, and how it keeps its journal.

#include <filesystem>

#include "sqlite/database.hpp"

namespace attn {

enum class HistoryAccess { create, write, read };

// `create` makes the file and its folder when missing. `create` and `write` bring an older file up to date and turn on WAL on a local disk, foreign keys, and a
// long wait for locks. Throws Error, with nothing touched, for a file that is missing, no database, another application's, or of a newer program; with
// `read` also for an older one.
Database open_history(const std::filesystem::path& file, HistoryAccess access);

// Whether the file lies on a network file system, where WAL's shared memory does not work.
bool on_network(const std::filesystem::path& file);
// The same by the f_type of statfs.
bool is_network_file_system(unsigned long type);

}  // namespace attn
