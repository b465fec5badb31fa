#include "store/history.hpp"

#include <gmock/gmock.h>

#include "base/json.hpp"
#include "sample.hpp"
#include "store/query.hpp"
#include "store/run_recorder.hpp"
#include "store/schema.hpp"

namespace attn {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A whole run, as the recorder stores it.
void store_run(History& history, const RunResult& run) {
  RunRecorder recorder(history, run);
  for (const Row& row : run.rows) recorder.trial_measured(row.trial, row.measurement, run.environments.at(row.environment));
  recorder.finished(run);
}

std::string text_of(const Measurement& measurement) { return dump_line(to_json(measurement)); }

std::int64_t count(const std::filesystem::path& file, const std::string& table) {
  return std::get<std::int64_t>(query(file, "SELECT count(*) FROM " + table).rows.at(0).at(0));
}

TEST(History, GivesBackARunAsItWasStored) {
  test::Folder folder;
  History history(folder / "deep/er/history.db");
  const RunResult run = test::sample_run("r1", "2026-01-01T00:00:00Z");
  store_run(history, run);
  const RunResult loaded = history.load("r1");
  EXPECT_EQ(loaded.started_at, run.started_at);
  EXPECT_EQ(loaded.finished_at, run.finished_at);
  EXPECT_EQ(loaded.commit_id, run.commit_id);
  EXPECT_EQ(loaded.command, run.command);
  EXPECT_EQ(loaded.warnings, run.warnings);
  EXPECT_EQ(loaded.exit, run.exit);
  ASSERT_THAT(loaded.environments, SizeIs(1));
  EXPECT_EQ(dump_line(to_json(loaded.environments[0])), dump_line(to_json(run.environments[0])));
  ASSERT_THAT(loaded.rows, SizeIs(run.rows.size()));
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    const Row &got = loaded.rows[i], &wanted = run.rows[i];
    EXPECT_EQ(text_of(got.measurement), text_of(wanted.measurement));
    EXPECT_EQ(dump_line(to_json(got.verdict)), dump_line(to_json(wanted.verdict)));
    EXPECT_EQ(got.trial.index, wanted.trial.index);
    EXPECT_EQ(got.trial.value, wanted.trial.value);
    EXPECT_EQ(got.trial.tags, wanted.trial.tags);
    EXPECT_EQ(got.trial.place, wanted.trial.place);
    EXPECT_EQ(got.trial.backend.plugin, wanted.trial.backend.plugin);
    EXPECT_EQ(got.trial.backend.options, wanted.trial.backend.options);
    EXPECT_EQ(got.environment, 0u);
    EXPECT_EQ(got.baseline_commit, wanted.baseline_commit);
    EXPECT_EQ(got.baseline_device_ns, wanted.baseline_device_ns);
    EXPECT_EQ(got.reproduce, wanted.reproduce);
  }
}

TEST(History, StoresAnEmptyMeasurementWithUnknownsThatStayUnknown) {
  test::Folder folder;
  History history(folder / "h.db");
  RunResult run = test::sample_run("r1", "2026-01-01T00:00:00Z", 1);
  Measurement empty;
  empty.suite = "llama", empty.case_id = run.rows[0].trial.id, empty.backend = "naive";
  empty.status = Status::crashed;
  run.rows[0].measurement = empty;
  store_run(history, run);
  EXPECT_EQ(text_of(history.load("r1").rows.at(0).measurement), text_of(empty));
  const QueryResult row = query(folder / "h.db", "SELECT kernels, copies, device_ns, workspace_bytes, max_abs_error, platform, reason, instrument FROM v_latest");
  EXPECT_THAT(row.rows.at(0), testing::Each(Cell(nullptr)));
}

TEST(History, ShowsAnUnfinishedRunAsSuch) {
  test::Folder folder;
  History history(folder / "h.db");
  RunResult run = test::sample_run("r1", "2026-01-01T00:00:00Z");
  history.run_started(run);
  history.add("r1", run.rows[0].trial, run.rows[0].measurement, run.environments.at(run.rows[0].environment));
  const auto runs = history.runs();
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_FALSE(runs[0].finished_at);
  EXPECT_FALSE(runs[0].exit);
  EXPECT_EQ(runs[0].unjudged, 1);
  const RunResult loaded = history.load("r1");
  EXPECT_EQ(loaded.exit, ExitCode::interrupted);
  EXPECT_EQ(loaded.rows.at(0).verdict.outcome, Outcome::undecided);
  EXPECT_THAT(loaded.warnings, ElementsAre(HasSubstr("did not finish")));
}

TEST(History, ReplacesAMeasurementThatGotFurtherBlocks) {
  test::Folder folder;
  History history(folder / "h.db");
  RunResult run = test::sample_run("r1", "2026-01-01T00:00:00Z", 1);
  RunRecorder recorder(history, run);
  Row& row = run.rows[0];
  recorder.trial_measured(row.trial, row.measurement, run.environments.at(row.environment));
  row.measurement.blocks.push_back(row.measurement.blocks[0]);
  row.measurement.blocks.back().device_ns = 9000;
  row.measurement.control = true;
  recorder.trial_measured(row.trial, row.measurement, run.environments.at(row.environment));
  EXPECT_EQ(text_of(history.load("r1").rows.at(0).measurement), text_of(row.measurement));
  row.measurement.status = Status::crashed;  // in its last block
  recorder.finished(run);
  EXPECT_EQ(text_of(history.load("r1").rows.at(0).measurement), text_of(row.measurement));
  EXPECT_EQ(count(folder / "h.db", "measurements"), 1);
  const QueryResult series = query(folder / "h.db", "SELECT value, low, high FROM v_series WHERE metric = 'device_ns'");
  EXPECT_THAT(series.rows, ElementsAre(ElementsAre(2200.0, 2000.0, 9000.0)));
}

TEST(History, KeepsWhatWasJudgedWhenARunEnds) {
  test::Folder folder;
  History history(folder / "h.db");
  RunResult run = test::sample_run("r1", "2026-01-01T00:00:00Z", 4);
  run.rows.back().measurement.control = true;  // judges nothing, and is counted by no summary of the run
  store_run(history, run);
  const auto runs = history.runs();
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].exit, 1);
  EXPECT_EQ(runs[0].measurements, 3);
  EXPECT_EQ(runs[0].unjudged, 0);
  EXPECT_THAT(runs[0].verdicts, ElementsAre(testing::Pair(Outcome::regressed, 3)));
  EXPECT_THAT(runs[0].suites, ElementsAre("llama"));
  EXPECT_THAT(runs[0].platforms, ElementsAre("cpu.sample.2t"));
}

TEST(History, KeepsBothSidesOfAComparisonAndTakesThemForNoNewestRun) {
  test::Folder folder;
  History history(folder / "h.db");
  store_run(history, test::sample_run("plain", "2026-01-01T00:00:00Z", 1));
  RunResult run = test::sample_run("compared", "2026-02-01T00:00:00Z", 2);
  run.comparison = Comparison{{"python=old"}, {"python=new", "env:FLAG=1"}, {}};
  run.rows[0].trial.side = Side::a;
  run.rows[1].trial.side = Side::b;
  RunRecorder recorder(history, run);
  EXPECT_TRUE(history.load("compared").comparison);  // known as one from its start
  run.comparison->differences = {"naive: FLAG unset -> 1"};
  recorder.finished(run);
  EXPECT_EQ(history.latest_run_id(), "plain");
  EXPECT_EQ(history.latest_run_id("llama"), "plain");
  const RunResult loaded = history.load("compared");
  ASSERT_TRUE(loaded.comparison);
  EXPECT_EQ(dump_line(to_json(*loaded.comparison)), dump_line(to_json(*run.comparison)));
  EXPECT_EQ(loaded.rows.at(0).trial.side, Side::a);
  EXPECT_EQ(loaded.rows.at(1).trial.side, Side::b);
  const auto runs = history.runs();
  ASSERT_THAT(runs, SizeIs(2));
  ASSERT_TRUE(runs[0].comparison);
  EXPECT_THAT(runs[0].comparison->b, ElementsAre("python=new", "env:FLAG=1"));
  EXPECT_EQ(runs[0].measurements, 1);  // side a judges nothing
  EXPECT_FALSE(runs[1].comparison);
}

// A file as the program of that schema left it, with views of its own time.
class OldFile : public testing::TestWithParam<std::size_t> {};

TEST_P(OldFile, IsBroughtUpToDate) {
  test::Folder folder;
  {
    Database old((folder / "h.db").string(), OpenMode::create);
    for (std::size_t step = 0; step < GetParam(); ++step) old.exec(kMigrations[step]);
    for (const View& view : kViews) old.exec(fmt::format("CREATE VIEW {} AS SELECT run_id AS of_its_time FROM measurements", view.name));
    old.set_application_id(kApplicationId);
    old.set_user_version(static_cast<std::int32_t>(GetParam()));
    old.exec("INSERT INTO runs (run_id, started_at, command) VALUES ('old', '2026-01-01T00:00:00Z', '[]')");
    old.exec("INSERT INTO measurements (run_id, trial, suite, case_id, backend, device, status, cache, control, rows_checked, kernels_low, kernels_high) "
             "VALUES ('old', 0, 'llama', 'c', 'naive', 'cpu', 'ok', 'cold', 0, 0, 5, 5)");
  }
  History history(folder / "h.db");
  EXPECT_EQ(history.latest_run_id("llama"), "old");
  const RunResult old = history.load("old");
  EXPECT_FALSE(old.comparison);
  ASSERT_THAT(old.rows, SizeIs(1));
  EXPECT_FALSE(old.rows[0].trial.side);
  EXPECT_EQ(old.rows[0].measurement.counts.kernels, (CountRange{5, 5}));
  store_run(history, test::sample_run("new", "2026-02-01T00:00:00Z"));
  History fresh(folder / "fresh.db");
  const auto shape = [](const std::filesystem::path& file) { return query(file, "SELECT m.name, c.name, c.type FROM sqlite_schema m, pragma_table_info(m.name) c ORDER BY 1, 2").rows; };
  EXPECT_EQ(shape(folder / "h.db"), shape(folder / "fresh.db"));
  EXPECT_THAT(query(folder / "h.db", "SELECT run_id FROM v_latest WHERE run_id = 'old'").rows, SizeIs(1));
  EXPECT_THAT(query(folder / "h.db", "SELECT run_id FROM v_series WHERE run_id = 'old' AND metric = 'kernels'").rows, SizeIs(1));
}
INSTANTIATE_TEST_SUITE_P(OfEverySchema, OldFile, testing::Range(std::size_t{1}, kMigrations.size()));

TEST(History, StoresEqualEnvironmentsOnce) {
  test::Folder folder;
  History history(folder / "h.db");
  RunResult run = test::sample_run("r1", "2026-01-01T00:00:00Z", 2);
  store_run(history, run);
  run.run_id = "r2";
  run.environments.push_back(test::sample_environment());
  run.environments[1].libraries["blas"].version = "0.4";
  run.rows[1].environment = 1;
  store_run(history, run);
  EXPECT_EQ(count(folder / "h.db", "environments"), 2);
  const RunResult loaded = history.load("r2");
  ASSERT_THAT(loaded.environments, SizeIs(2));
  EXPECT_EQ(loaded.environments[loaded.rows[1].environment].libraries.at("blas").version, "0.4");
}

TEST(History, FindsTheLatestRunOfASuite) {
  test::Folder folder;
  History history(folder / "h.db");
  EXPECT_EQ(history.latest_run_id(), std::nullopt);
  store_run(history, test::sample_run("newer", "2026-02-01T00:00:00Z"));
  RunResult other = test::sample_run("newest", "2026-03-01T00:00:00Z");
  for (Row& row : other.rows) row.measurement.suite = row.trial.suite = "qwen";
  store_run(history, other);
  store_run(history, test::sample_run("stored last, but older", "2026-01-01T00:00:00Z"));
  EXPECT_EQ(history.latest_run_id("llama"), "newer");
  EXPECT_EQ(history.latest_run_id(), "newest");
  EXPECT_EQ(history.latest_run_id("none"), std::nullopt);
}

TEST(History, FiltersRuns) {
  test::Folder folder;
  History history(folder / "h.db");
  for (const char* day : {"01", "02", "03"}) store_run(history, test::sample_run(day, fmt::format("2026-01-{}T00:00:00Z", day)));
  const auto ids = [&](const RunFilter& filter) {
    std::vector<std::string> result;
    for (const RunSummary& run : history.runs(filter)) result.push_back(run.run_id);
    return result;
  };
  EXPECT_THAT(ids({}), ElementsAre("03", "02", "01"));
  EXPECT_THAT(ids({.limit = 2}), ElementsAre("03", "02"));
  EXPECT_THAT(ids({.since = "2026-01-02"}), ElementsAre("03", "02"));
  EXPECT_THAT(ids({.commit = "c0f"}), SizeIs(3));
  EXPECT_THAT(ids({.commit = "%"}), IsEmpty());
  EXPECT_THAT(ids({.suite = "qwen"}), IsEmpty());
}

TEST(History, SaysThatARunIsUnknown) {
  test::Folder folder;
  History history(folder / "h.db");
  EXPECT_THAT(error_of([&] { history.load("nope"); }), HasSubstr("there is no run \"nope\""));
}

TEST(History, StoresNothingOfAMeasurementThatFailsHalfway) {
  test::Folder folder;
  const auto file = folder / "h.db";
  History history(file);
  const RunResult run = test::sample_run("r1", "2026-01-01T00:00:00Z", 1);
  history.run_started(run);
  {
    Database other(file.string(), OpenMode::read_write);
    other.exec("CREATE TRIGGER stop BEFORE INSERT ON times WHEN new.metric = 'host_ns' BEGIN SELECT raise(ABORT, 'disk full'); END");
  }
  EXPECT_THAT(error_of([&] { history.add("r1", run.rows[0].trial, run.rows[0].measurement, run.environments.at(run.rows[0].environment)); }), HasSubstr("disk full"));
  for (const char* table : {"measurements", "kernels", "blocks", "times", "raw_calls"}) EXPECT_EQ(count(file, table), 0) << table;
}

// --- While a run goes on ---

// A full disk ends the recording alone (tests/suites/full_disk.py); what only a mistake of ours can cause must not be told as one.
TEST(RunRecorder, LetsAFaultOfTheProgramThrough) {
  test::Folder folder;
  const auto file = folder / "h.db";
  History history(file);
  const RunResult run = test::sample_run("r1", "2026-01-01T00:00:00Z", 1);
  RunRecorder recorder(history, run);
  Database(file.string(), OpenMode::read_write).exec("CREATE TRIGGER broken BEFORE INSERT ON measurements BEGIN SELECT raise(ABORT, 'a bug'); END");
  const auto measured = [&] { recorder.trial_measured(run.rows[0].trial, run.rows[0].measurement, run.environments.at(run.rows[0].environment)); };
  EXPECT_THAT(error_of(measured), HasSubstr("a bug"));
}

// --- The file itself ---

TEST(HistoryFile, IsMarkedAsOurs) {
  test::Folder folder;
  History history(folder / "h.db");
  Database database((folder / "h.db").string(), OpenMode::read_only);
  EXPECT_EQ(database.application_id(), 0x6174746E);
  EXPECT_EQ(database.user_version(), static_cast<std::int64_t>(kMigrations.size()));
  Statement journal(database, "PRAGMA journal_mode");
  ASSERT_TRUE(journal.step());
  EXPECT_EQ(journal.get<std::string>(0), "wal");
  EXPECT_EQ(query(folder / "h.db", "PRAGMA auto_vacuum").rows[0][0], Cell(std::int64_t{2}));
}

TEST(HistoryFile, OpensAgainWithItsContent) {
  test::Folder folder;
  {
    History history(folder / "h.db");
    store_run(history, test::sample_run("r1", "2026-01-01T00:00:00Z"));
  }
  EXPECT_THAT(History::open_existing(folder / "h.db").runs(), SizeIs(1));
}

TEST(HistoryFile, IsNotTakenFromOthers) {
  test::Folder folder;
  test::write_text(folder / "text", std::string(500, 'x'));
  EXPECT_THAT(error_of([&] { History(folder / "text"); }), HasSubstr("no SQLite database"));
  EXPECT_EQ(test::read_text(folder / "text"), std::string(500, 'x'));
  test::write_text(folder / "short", "x");
  EXPECT_THAT(error_of([&] { History(folder / "short"); }), HasSubstr("no SQLite database"));
  {
    Database other((folder / "other.db").string(), OpenMode::create);
    other.exec("CREATE TABLE t (x)");
  }
  const std::string before = test::read_text(folder / "other.db");
  EXPECT_THAT(error_of([&] { History(folder / "other.db"); }), HasSubstr("belongs to another application (application_id 0x00000000"));
  EXPECT_THAT(error_of([&] { query(folder / "other.db", "SELECT 1"); }), HasSubstr("belongs to another application"));
  EXPECT_EQ(test::read_text(folder / "other.db"), before);
  EXPECT_THAT(error_of([&] { History(folder.path()); }), HasSubstr("found a folder"));
}

// The user can mend it: it is no fault of the program.
TEST(HistoryFile, WithDamagedContentSaysWhatToDo) {
  const char* const damages[] = {"UPDATE measurements SET verdict = 'no such word'", "UPDATE measurements SET status = x'00'", "UPDATE raw_calls SET content = '{}'",
                                 "UPDATE raw_calls SET content = '{\"names\":[],\"calls\":[[[77,0,0,0,0]]]}'", "PRAGMA foreign_keys = OFF; DELETE FROM environments"};
  for (const char* const damage : damages) {
    test::Folder folder;
    History history(folder / "h.db");
    store_run(history, test::sample_run("r1", "2026-01-01T00:00:00Z", 1));
    Database((folder / "h.db").string(), OpenMode::read_write).exec(damage);
    try {
      history.load("r1");
      ADD_FAILURE() << damage << " is not noticed";
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::input) << damage;
      EXPECT_THAT(error.what(), AllOf(HasSubstr("damaged"), HasSubstr("move it away"))) << damage;
    }
  }
}

TEST(HistoryFile, OfANewerProgramIsRefusedUntouched) {
  test::Folder folder;
  { History history(folder / "h.db"); }
  { Database((folder / "h.db").string(), OpenMode::read_write).set_user_version(99); }
  const std::string before = test::read_text(folder / "h.db");
  EXPECT_THAT(error_of([&] { History(folder / "h.db"); }), HasSubstr("written by a newer attn-regress (schema 99"));
  EXPECT_THAT(error_of([&] { query(folder / "h.db", "SELECT 1"); }), HasSubstr("written by a newer"));
  EXPECT_EQ(test::read_text(folder / "h.db"), before);
}

TEST(HistoryFile, IsMissedWhereItMustExist) {
  test::Folder folder;
  EXPECT_THAT(error_of([&] { History::open_existing(folder / "none.db"); }), HasSubstr("there is no such history database"));
  EXPECT_THAT(error_of([&] { query(folder / "none.db", "SELECT 1"); }), HasSubstr("there is no such history database"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(HistoryFile, BeginsAnewWhenItsCreatorDiedBeforeTheFirstCommit) {
  test::Folder folder;
  test::write_text(folder / "empty.db", "");
  History(folder / "empty.db");
  Database((folder / "h.db").string(), OpenMode::create).exec("PRAGMA auto_vacuum = INCREMENTAL");
  History history(folder / "h.db");
  store_run(history, test::sample_run("r1", "2026-01-01T00:00:00Z"));
  EXPECT_THAT(history.runs(), SizeIs(1));
}

}  // namespace
}  // namespace attn
