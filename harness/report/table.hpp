#pragma once
// A run on the terminal: a group per case, a row per backend, control rows apart; below it what needs a look, the worst first, and what the exit code means.

#include <cstddef>
#include <optional>
#include <string>

#include "core/run_result.hpp"

namespace attn {

struct TableOptions {
  std::size_t columns = 0;  // 0 = as wide as it gets
  bool color = false;
  std::string database;     // its path, named in the last lines; empty = not kept
  std::optional<std::size_t> rows_kept = {};  // that it has; empty: all
};

std::string table(const RunResult& run, const TableOptions& options);

}  // namespace attn
