#include <gmock/gmock.h>

#include "base/json.hpp"
#include "sample.hpp"
#include "store/history.hpp"
#include "store/query.hpp"
#include "store/run_recorder.hpp"

namespace attn {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void store(History& history, const std::string& run_id, const std::string& started_at, const std::string& suite = "llama") {
  RunResult run = test::sample_run(run_id, started_at);
  for (Row& row : run.rows) row.measurement.suite = row.trial.suite = suite;
  RunRecorder(history, run).finished(run);
}

std::vector<std::string> ids(History& history) {
  std::vector<std::string> result;
  for (const RunSummary& run : history.runs()) result.push_back(run.run_id);
  return result;
}

std::string content(History& history, const std::string& run_id) {
  const RunResult run = history.load(run_id);
  std::string text = run.started_at + run.finished_at + run.commit_id;
  for (const Environment& environment : run.environments) text += dump_line(to_json(environment));
  for (const Row& row : run.rows) text += dump_line(to_json(row.measurement)) + dump_line(to_json(row.verdict)) + row.reproduce;
  return text;
}

void expect_sound(const std::filesystem::path& file) {
  EXPECT_EQ(query(file, "PRAGMA integrity_check").rows.at(0).at(0), Cell("ok"));
  EXPECT_THAT(query(file, "PRAGMA foreign_key_check").rows, IsEmpty());
}

TEST(Merge, AddsTheRunsOfAnotherFileOnce) {
  test::Folder folder;
  History ours(folder / "a.db"), theirs(folder / "b.db");
  store(ours, "both", "2026-01-01T00:00:00Z");
  store(theirs, "both", "2026-01-01T00:00:00Z");
  store(theirs, "theirs", "2026-01-02T00:00:00Z");
  EXPECT_EQ(ours.merge(folder / "b.db"), 1);
  EXPECT_EQ(ours.merge(folder / "b.db"), 0);
  EXPECT_THAT(ids(ours), ElementsAre("theirs", "both"));
  EXPECT_EQ(content(ours, "theirs"), content(theirs, "theirs"));
  EXPECT_EQ(query(folder / "a.db", "SELECT count(*) FROM environments").rows[0][0], Cell(std::int64_t{1}));
  EXPECT_EQ(query(folder / "a.db", "SELECT * FROM v_series WHERE run_id = 'theirs' ORDER BY 1, 2, 3, 6").rows,
            query(folder / "b.db", "SELECT * FROM v_series WHERE run_id = 'theirs' ORDER BY 1, 2, 3, 6").rows);
  expect_sound(folder / "a.db");
}

TEST(Merge, CompletesARunThatWasUnfinishedHere) {
  test::Folder folder;
  History ours(folder / "a.db"), theirs(folder / "b.db");
  const RunResult run = test::sample_run("r1", "2026-01-01T00:00:00Z");
  ours.run_started(run);
  ours.add("r1", run.rows[0].trial, run.rows[0].measurement, run.environments.at(run.rows[0].environment));
  store(theirs, "r1", "2026-01-01T00:00:00Z");
  EXPECT_EQ(ours.merge(folder / "b.db"), 1);
  EXPECT_EQ(content(ours, "r1"), content(theirs, "r1"));
  EXPECT_EQ(theirs.merge(folder / "a.db"), 0);
  expect_sound(folder / "a.db");
}

TEST(Merge, RefusesItself) {
  test::Folder folder;
  History history(folder / "a.db");
  EXPECT_THAT(error_of([&] { history.merge(folder / "a.db"); }), HasSubstr("cannot be merged into itself"));
  EXPECT_THAT(error_of([&] { history.merge(folder / "none.db"); }), HasSubstr("no such history database"));
}

TEST(Prune, KeepsTheNewestRunsOfEverySuite) {
  test::Folder folder;
  History history(folder / "a.db");
  store(history, "q1", "2025-01-01T00:00:00Z", "qwen");
  for (const char* day : {"03", "01", "02", "04"}) store(history, day, fmt::format("2026-01-{}T00:00:00Z", day));
  EXPECT_THAT(history.prune({.keep = 2}), ElementsAre("01", "02"));
  EXPECT_THAT(ids(history), ElementsAre("04", "03", "q1"));
  expect_sound(folder / "a.db");
}

TEST(Prune, RemovesWholeRunsBeforeADay) {
  test::Folder folder;
  History history(folder / "a.db");
  for (const char* day : {"01", "02", "03"}) store(history, day, fmt::format("2026-01-{}T00:00:00Z", day));
  EXPECT_THAT(history.prune({.before = "2026-01-03"}), ElementsAre("01", "02"));
  for (const char* table : {"measurements", "kernels", "blocks", "times", "raw_calls", "findings"}) {
    const std::string owner = std::string(table) == "measurements" ? "run_id" : "(SELECT run_id FROM measurements WHERE id = measurement_id)";
    EXPECT_THAT(query(folder / "a.db", fmt::format("SELECT DISTINCT {} FROM {}", owner, table)).rows, ElementsAre(ElementsAre(Cell("03")))) << table;
  }
  EXPECT_THAT(history.prune({.before = "2027-01-01"}), ElementsAre("03"));
  EXPECT_EQ(query(folder / "a.db", "SELECT count(*) FROM environments").rows[0][0], Cell(std::int64_t{0}));
}

TEST(Prune, KeepsWhatEitherRuleKeeps) {
  test::Folder folder;
  History history(folder / "a.db");
  for (const char* day : {"01", "02", "03"}) store(history, day, fmt::format("2026-01-{}T00:00:00Z", day));
  EXPECT_THAT(history.prune({.keep = 2, .before = "2027-01-01"}), ElementsAre("01"));
  EXPECT_THAT(history.prune({.keep = 0, .before = "2026-01-03"}), ElementsAre("02"));
}

TEST(Prune, LeavesARunThatMayStillGoOn) {
  test::Folder folder;
  History history(folder / "a.db");
  history.run_started(test::sample_run("killed long ago", "2020-01-01T00:00:00Z"));
  history.run_started(test::sample_run("going on", "2999-01-01T00:00:00Z"));
  EXPECT_THAT(history.prune({.keep = 0}), ElementsAre("killed long ago"));
}

TEST(Prune, GivesSpaceBack) {
  test::Folder folder;
  History history(folder / "a.db");
  for (int i = 0; i < 20; ++i) store(history, std::to_string(i), "2026-01-01T00:00:00Z");
  const auto pages = [&] { return std::get<std::int64_t>(query(folder / "a.db", "PRAGMA page_count").rows[0][0]); };
  const std::int64_t before = pages();
  history.prune({.keep = 1});
  EXPECT_LT(pages(), before);
  EXPECT_EQ(query(folder / "a.db", "PRAGMA freelist_count").rows[0][0], Cell(std::int64_t{0}));
}

TEST(Prune, WantsToKnowWhatStays) {
  test::Folder folder;
  History history(folder / "a.db");
  EXPECT_THAT(error_of([&] { history.prune({}); }), HasSubstr("needs to know what stays"));
  EXPECT_THAT(error_of([&] { history.prune({.keep = -1}); }), HasSubstr("expected 0 or more"));
  EXPECT_THAT(error_of([&] { history.prune({.before = "yesterday"}); }), HasSubstr("found the date \"yesterday\""));
}

TEST(Copy, IsAWholeHistoryOfItsOwn) {
  test::Folder folder;
  History history(folder / "a.db");
  store(history, "r1", "2026-01-01T00:00:00Z");
  history.copy_to(folder / "sub/copy.db");
  History copy = History::open_existing(folder / "sub/copy.db");
  EXPECT_EQ(content(copy, "r1"), content(history, "r1"));
  EXPECT_THAT(error_of([&] { history.copy_to(folder / "sub/copy.db"); }), HasSubstr("exists already"));
}

}  // namespace
}  // namespace attn
