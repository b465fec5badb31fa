#pragma once
// The history: every run, measurement and verdict in one SQLite file (DESIGN section 7). One object per thread; any number of processes may write one file.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/run_result.hpp"
#include "sqlite/database.hpp"

namespace attn {

// A measurement's row in one database file.
enum class MeasurementId : std::int64_t {};

struct RunFilter {
  std::string suite = "";   // empty = every suite
  std::string commit = "";  // a prefix of the commit id
  std::string since = "";   // ISO 8601, inclusive
  std::int64_t limit = 0;   // the newest N; 0 = all
};

struct RunSummary {
  std::string run_id, started_at, commit_id;
  std::optional<std::string> finished_at;   // empty: the run did not finish, or not yet
  std::optional<int> exit;                  // likewise
  std::vector<std::string> suites, platforms, command;
  std::optional<Comparison> comparison;
  std::int64_t measurements = 0, unjudged = 0;  // control rows and side a's, which judge nothing, are not counted
  std::map<Outcome, std::int64_t> verdicts;
};

// Which runs stay when others are removed; with both fields set, a run goes that neither keeps. Runs that may still be going on (unfinished and younger than
// a day) always stay.
struct PruneRule {
  std::optional<std::int64_t> keep = {};  // the newest `keep` runs of every suite stay
  std::string before = "";                // runs that started at or after this ISO 8601 time stay
};

class History {
 public:
  // Opens `file`, creates it and its folder when missing, brings an older file up to date. Throws Error, with nothing touched, when the file is no database,
  // another application's, or written by a newer program.
  explicit History(const std::filesystem::path& file);
  // As above, but a missing file is an error.
  static History open_existing(const std::filesystem::path& file);

  // --- Writing. Each call is one transaction: done as a whole or not at all. ---
  // Uses run_id, started_at, commit_id and command. A run is visible as unfinished until run_finished.
  void run_started(const RunResult& run);
  MeasurementId add(const std::string& run_id, const Trial& trial, const Measurement& measurement, const Environment& environment);
  // Puts `measurement`, re-measured with further blocks for example, in the place of what was stored; the verdict stays.
  void replace(MeasurementId id, const Measurement& measurement);
  // Stores the verdict, the baseline it was judged against and how to reproduce it; replaces an earlier verdict.
  void set_verdict(MeasurementId id, const Row& row);
  // Uses run_id, finished_at, exit and warnings.
  void run_finished(const RunResult& run);

  // --- Reading. ---
  // The newest run with a measurement of `suite` (empty = of any suite); those that compare two sides are no measurements of what is.
  std::optional<std::string> latest_run_id(const std::string& suite = "");
  // The run as it was stored, rows in the order of their trials: what the reports need. Throws Error when there is none. Rows of an unfinished run that were
  // not judged carry Outcome::undecided and say so. Backend specifications carry names, files and options, not build commands.
  RunResult load(const std::string& run_id);
  // Newest first.
  std::vector<RunSummary> runs(const RunFilter& filter = {});

  // --- Upkeep. ---
  // Adds the runs of another database that this one lacks, each as a whole; a run that is unfinished here and finished there is replaced. Returns how many.
  std::int64_t merge(const std::filesystem::path& other);
  // Returns the removed runs' ids, oldest first. Throws Error when the rule names nothing.
  std::vector<std::string> prune(const PruneRule& rule);
  // A consistent copy, also while others write. Throws Error when `copy` exists.
  void copy_to(const std::filesystem::path& copy);

 private:
  History(const std::filesystem::path& file, Database database);
  std::filesystem::path file_;
  Database database_;
};

}  // namespace attn
