// Merging, pruning and copying: the third part of store/history.hpp.
#include <algorithm>
#include <cctype>

#include "store/history.hpp"
#include "store/history_file.hpp"
#include "store/table.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

Columns to_columns(StoredRow row, const std::string& without, const std::string& key, const Cell& value) {
  row.erase(without);
  row[key] = value;
  return {row.begin(), row.end()};
}

// Copies what `from` knows of a run: ids are this file's own, so every reference is translated.
void copy_run(Database& from, Database& to, const StoredRow& run) {
  const Cell& run_id = run.at("run_id");
  insert(to, "runs", {run.begin(), run.end()});
  for (StoredRow& measurement : select(from, "SELECT * FROM measurements WHERE run_id = ?1 ORDER BY id", {run_id})) {
    Cell environment = measurement.at("environment_id");
    if (!std::holds_alternative<std::nullptr_t>(environment)) {
      const StoredRow theirs = select(from, "SELECT * FROM environments WHERE id = ?1", {environment}).at(0);
      const auto ours = select(to, "SELECT id FROM environments WHERE content = ?1", {theirs.at("content")});
      environment = ours.empty() ? Cell{insert(to, "environments", to_columns(theirs, "id", "content", theirs.at("content")))} : ours[0].at("id");
    }
    const Cell old_id = measurement.at("id");
    const std::int64_t new_id = insert(to, "measurements", to_columns(std::move(measurement), "id", "environment_id", environment));
    for (const char* table : {"blocks", "times", "kernels", "raw_calls", "findings"})
      for (StoredRow& child : select(from, fmt::format("SELECT * FROM {} WHERE measurement_id = ?1 ORDER BY 1", table), {old_id}))
        insert(to, table, to_columns(std::move(child), "id", "measurement_id", new_id));
  }
}

bool unfinished(const StoredRow& run) { return std::holds_alternative<std::nullptr_t>(run.at("finished_at")); }

// "2026-01-31" or longer: what compares as text with the stored times.
void check_date(const std::string& text) {
  constexpr std::string_view form = "dddd-dd-dd";
  const bool good = text.size() >= form.size() && std::equal(form.begin(), form.end(), text.begin(), [](char f, char c) {
                      return f == 'd' ? std::isdigit(static_cast<unsigned char>(c)) != 0 : f == c;
                    });
  if (!good) throw Error(fmt::format("found the date \"{}\", expected one such as 2026-01-31 or 2026-01-31T12:00:00Z", text));
}

}  // namespace

std::int64_t History::merge(const fs::path& other) {
  std::error_code ignored;
  if (fs::equivalent(file_, other, ignored)) throw Error(fmt::format("{}: a database cannot be merged into itself", other.string()));
  Database source = open_history(other, HistoryAccess::read);
  ReadTransaction snapshot(source);
  std::int64_t added = 0;
  for (const StoredRow& run : select(source, "SELECT * FROM runs ORDER BY started_at, rowid")) {
    Transaction transaction(database_);
    const auto ours = select(database_, "SELECT * FROM runs WHERE run_id = ?1", {run.at("run_id")});
    if (!ours.empty()) {
      if (!unfinished(ours[0]) || unfinished(run)) continue;
      Statement(database_, "DELETE FROM runs WHERE run_id = ?1").bind(1, std::get<std::string>(run.at("run_id"))).run();
    }
    copy_run(source, database_, run);
    transaction.commit();
    ++added;
  }
  return added;
}

std::vector<std::string> History::prune(const PruneRule& rule) {
  if (!rule.keep && rule.before.empty()) throw Error("pruning needs to know what stays: how many runs of each suite, or from which date on");
  if (rule.keep && *rule.keep < 0) throw Error(fmt::format("found {} runs to keep, expected 0 or more", *rule.keep));
  if (!rule.before.empty()) check_date(rule.before);
  Transaction transaction(database_);
  const auto going = select(database_, R"sql(
WITH pairs AS (SELECT DISTINCT run_id, suite FROM measurements),
     ranked AS (SELECT run_id, row_number() OVER (PARTITION BY suite ORDER BY started_at DESC, run_id DESC) AS age FROM pairs JOIN runs USING (run_id))
SELECT run_id FROM runs
WHERE (finished_at IS NOT NULL OR started_at < strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-1 day'))
  AND (?1 IS NULL OR run_id NOT IN (SELECT run_id FROM ranked WHERE age <= ?1))
  AND (?2 IS NULL OR started_at < ?2)
ORDER BY started_at, run_id)sql",
                            {to_cell(rule.keep), to_cell(rule.before)});
  std::vector<std::string> removed;
  for (const StoredRow& run : going) {
    removed.push_back(std::get<std::string>(run.at("run_id")));
    Statement(database_, "DELETE FROM runs WHERE run_id = ?1").bind(1, removed.back()).run();
  }
  database_.exec("DELETE FROM environments WHERE id NOT IN (SELECT environment_id FROM measurements WHERE environment_id IS NOT NULL)");
  transaction.commit();
  database_.exec("PRAGMA incremental_vacuum");
  return removed;
}

void History::copy_to(const fs::path& copy) {
  if (fs::exists(copy)) throw Error(fmt::format("{}: exists already; a copy goes to a new file", copy.string()));
  if (copy.has_parent_path()) fs::create_directories(copy.parent_path());
  Statement(database_, "VACUUM INTO ?1").bind(1, copy.string()).run();
}

}  // namespace attn
