#pragma once
// Committed baselines, DIRECTORY/<platform>/<suite>.json: a header, then one line a case and backend, sorted, so that a promotion is a readable diff.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/baseline.hpp"

namespace attn {

// The baselines of one suite, of all platforms.
class SuiteBaselines {
 public:
  explicit SuiteBaselines(std::vector<Baseline> rows);

  // For counts, path, numerics and memory: of `platform` itself, else of the first platform, in sorted order, with the same arch. Null when there is none.
  const Baseline* find_counts(const std::string& case_id, const std::string& backend, DeviceType device, const std::string& arch,
                              const std::string& platform) const;
  // For times: of that platform alone.
  const Baseline* find_times(const std::string& case_id, const std::string& backend, DeviceType device, const std::string& platform) const;
  // Sorted by case, backend, device, platform.
  const std::vector<Baseline>& rows() const { return rows_; }

 private:
  std::vector<Baseline> rows_;
};

// What an update did.
struct BaselineUpdate {
  std::vector<std::filesystem::path> written;  // files whose content changed
  std::int64_t added = 0, changed = 0, unchanged = 0;
  std::vector<std::string> lines;              // what changed, readable, one or more lines a row
};

class BaselineStore {
 public:
  explicit BaselineStore(const std::filesystem::path& directory) : directory_(directory) {}

  // Every platform's file of the suite; a directory that is missing holds none. Throws Error with file:line for a file that is corrupt, of another schema, or
  // says one row twice.
  SuiteBaselines load(const std::string& suite) const;
  // The names of the suites that have a file, sorted.
  std::vector<std::string> suites() const;
  // Adds or replaces the rows in their files, each written as a whole or not at all; other rows keep their lines. `environments` describe the platforms in the
  // header of new files. Of rows with the same key the last wins. Throws Error when a suite's or platform's name is not fit for a file.
  BaselineUpdate update(const std::vector<Baseline>& rows, const std::vector<Environment>& environments = {}) const;
  // Where the rows of a suite and platform lie.
  std::filesystem::path file_of(const std::string& platform, const std::string& suite) const;

 private:
  std::filesystem::path directory_;
};

}  // namespace attn
