#include <gmock/gmock.h>

#include "sample.hpp"
#include "store/history.hpp"
#include "store/history_file.hpp"
#include "store/query.hpp"
#include "store/run_recorder.hpp"

namespace attn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Views : public testing::Test {
 protected:
  void store(const std::string& run_id, const std::string& started_at, std::int64_t kernels, Outcome outcome = Outcome::regressed) {
    RunResult run = test::sample_run(run_id, started_at, 1);
    run.rows[0] = test::sample_row(0, kernels);
    run.rows[0].verdict.outcome = outcome;
    History history(file_);
    RunRecorder(history, run).finished(run);
  }
  QueryResult ask(const std::string& sql) { return query(file_, sql); }
  std::string columns(const std::string& view) { return fmt::format("{}", fmt::join(ask("SELECT * FROM " + view).columns, " ")); }

  test::Folder folder_;
  std::filesystem::path file_ = folder_ / "h.db";
};

const Cell null = nullptr;
Cell whole(std::int64_t value) { return value; }
Cell text(const std::string& value) { return value; }

TEST_F(Views, HaveTheDocumentedColumnsInOrder) {
  { History history(file_); }
  EXPECT_EQ(columns("v_latest"),
            "suite case_id backend device platform run_id started_at status reason kernel_path kernels copies copy_bytes memsets device_ns span_ns host_ns plan_ns "
            "first_ns second_ns workspace_bytes peak_bytes max_abs_error rel_error instrument cache verdict verdict_reason "
            "launches synchronisations allocations frees capturable sm_clock_mhz throttle prepare_peak_bytes");
  EXPECT_EQ(columns("v_series"), "suite case_id backend device platform metric unit instrument run_id started_at commit_id value low high");
  EXPECT_EQ(columns("v_kernels"), "run_id suite case_id backend device ordinal kind class name bytes count device_ns gemm_kind side");
  EXPECT_THAT(columns("v_regressions"), testing::StartsWith("suite case_id backend device platform run_id started_at metric ratio low high threshold cause verdict message"));
}

TEST_F(Views, LatestShowsTheNewestRunWhateverTheOrderOfStoring) {
  store("new", "2026-02-01T00:00:00Z", 7);
  store("old", "2026-01-01T00:00:00Z", 5);
  const QueryResult result = ask("SELECT run_id, kernels, copies, copy_bytes, memsets, device_ns, span_ns, host_ns, plan_ns, first_ns, second_ns, workspace_bytes,"
                                 " peak_bytes, max_abs_error, rel_error, instrument, cache, status, kernel_path, verdict, verdict_reason FROM v_latest");
  EXPECT_THAT(result.rows, ElementsAre(ElementsAre(text("new"), whole(8), whole(0), null, whole(2), 2100.0, 2100.0, 305.0, 1.5e6, 5050.0, 4050.0, whole(4096),
                                                   whole(8192), 0.5, 0.125, text("reported"), text("warm"), text("wrong"), text("naive"), text("regressed"),
                                                   text("+1 copy"))));
}

TEST_F(Views, SeriesHaveARowForEveryKnownMetric) {
  store("r1", "2026-01-01T00:00:00Z", 5);
  const QueryResult result = ask("SELECT metric, unit, instrument, value, low, high FROM v_series ORDER BY metric");
  EXPECT_THAT(result.rows,
              ElementsAre(ElementsAre(text("copies"), text("count"), text("reported"), whole(0), whole(0), whole(0)),
                          ElementsAre(text("device_ns"), text("ns"), text("reported"), 2100.0, 2000.0, 2200.0),
                          ElementsAre(text("first_ns"), text("ns"), text("clock"), 5050.0, 5000.0, 5100.0),
                          ElementsAre(text("host_ns"), text("ns"), text("clock"), 305.0, 300.0, 310.0),
                          ElementsAre(text("kernels"), text("count"), text("reported"), whole(6), whole(5), whole(6)),
                          ElementsAre(text("max_abs_error"), text("1"), null, 0.5, 0.5, 0.5), ElementsAre(text("memsets"), text("count"), text("reported"), whole(2), whole(2), whole(2)),
                          ElementsAre(text("peak_bytes"), text("bytes"), null, whole(8192), whole(8192), whole(8192)),
                          ElementsAre(text("plan_ns"), text("ns"), text("clock"), 1.5e6, 1e6, 2e6),
                          ElementsAre(text("prepare_peak_bytes"), text("bytes"), null, whole(16384), whole(16384), whole(16384)), ElementsAre(text("rel_error"), text("1"), null, 0.125, 0.125, 0.125),
                          ElementsAre(text("second_ns"), text("ns"), text("clock"), 4050.0, 4000.0, 4100.0),
                          ElementsAre(text("span_ns"), text("ns"), text("clock"), 2100.0, 2100.0, 2100.0),
                          ElementsAre(text("workspace_bytes"), text("bytes"), null, whole(4096), whole(4096), whole(4096))));
}

TEST_F(Views, LatestAndSeriesLeaveOutWhatASideOfAComparisonGave) {
  store("plain", "2026-01-01T00:00:00Z", 5);
  RunResult run = test::sample_run("compared", "2026-02-01T00:00:00Z", 2);
  run.comparison.emplace();
  run.rows[0].trial.side = Side::a;
  run.rows[1] = run.rows[0];
  run.rows[1].trial.index = 1;
  run.rows[1].trial.side = Side::b;
  History history(file_);
  RunRecorder(history, run).finished(run);
  EXPECT_THAT(ask("SELECT run_id FROM v_latest").rows, ElementsAre(ElementsAre(text("plain"))));
  EXPECT_THAT(ask("SELECT DISTINCT run_id FROM v_series").rows, ElementsAre(ElementsAre(text("plain"))));
  EXPECT_THAT(ask("SELECT DISTINCT run_id, side FROM v_kernels ORDER BY side").rows,
              ElementsAre(ElementsAre(text("plain"), null), ElementsAre(text("compared"), text("a")), ElementsAre(text("compared"), text("b"))));
  EXPECT_THAT(ask("SELECT DISTINCT side FROM v_regressions WHERE run_id = 'compared' ORDER BY side").rows, ElementsAre(ElementsAre(text("a")), ElementsAre(text("b"))));
}

TEST_F(Views, KernelsShowTheMultisetOfACall) {
  store("r1", "2026-01-01T00:00:00Z", 5);
  EXPECT_THAT(ask("SELECT run_id, ordinal, kind, class, name, bytes, count, device_ns FROM v_kernels ORDER BY ordinal").rows,
              ElementsAre(ElementsAre(text("r1"), whole(0), text("kernel"), text("gemm"), text("cpu_gemm<'\"\\>"), null, whole(6), 1500.5),
                          ElementsAre(text("r1"), whole(1), text("memcpy"), text("copy"), text("DtoD"), whole(4096), whole(1), null)));
}

TEST_F(Views, RegressionsShowEveryFindingWorseThanPass) {
  store("r1", "2026-01-01T00:00:00Z", 5);
  EXPECT_THAT(ask("SELECT metric, ratio, low, high, threshold, cause, verdict, message, outcome FROM v_regressions").rows,
              ElementsAre(ElementsAre(text("copies"), null, null, null, 0.0, text("blas 1 -> 2"), text("regressed"), text("+1 memcpy of 4096 B"), text("regressed")),
                          ElementsAre(text("device_ns"), 1.02, 0.98, 1.06, 1.01, null, text("regressed"), text("too noisy"), text("undecided"))));
}

TEST_F(Views, RegressionsHoldEveryOutcomeThatIsNoSuccess) {
  const auto& words = Words<Outcome>::list;
  for (std::size_t i = 0; i < words.size(); ++i) store(words[i], "2026-01-01T00:00:00Z", 5, static_cast<Outcome>(i));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    const bool worse = exit_code(outcome) != 0 || outcome == Outcome::waived;
    EXPECT_EQ(!ask(fmt::format("SELECT * FROM v_regressions WHERE run_id = '{}'", words[i])).rows.empty(), worse) << words[i];
  }
}

TEST_F(Views, RegressionsShowAVerdictWithoutFindingsByItsReason) {
  RunResult run = test::sample_run("r1", "2026-01-01T00:00:00Z", 1);
  run.rows[0].verdict = {Outcome::crashed, "SIGSEGV in open", {}, {}};
  History history(file_);
  RunRecorder(history, run).finished(run);
  EXPECT_THAT(ask("SELECT metric, verdict, message FROM v_regressions").rows, ElementsAre(ElementsAre(null, text("crashed"), text("SIGSEGV in open"))));
}

std::string error_of(const std::filesystem::path& file, const std::string& sql) {
  try {
    query(file, sql);
  } catch (const Error& error) {
    return (error.fault() == Fault::input ? "" : "internal: ") + std::string(error.what());
  }
  return "no error";
}

TEST_F(Views, AreAskedReadOnly) {
  store("r1", "2026-01-01T00:00:00Z", 5);
  for (const char* sql : {"DELETE FROM runs", "INSERT INTO runs (run_id) VALUES ('x')", "DROP VIEW v_latest", "CREATE TABLE t (x)", "CREATE TEMP TABLE t (x)", "PRAGMA user_version = 9",
                          "PRAGMA journal_mode = DELETE", "VACUUM", "REINDEX", "WITH x AS (SELECT 1) DELETE FROM runs"}) {
    const std::string before = test::read_text(file_);
    const std::string error = error_of(file_, sql);
    EXPECT_THAT(error, testing::AnyOf(HasSubstr("this one writes"), HasSubstr("readonly"), "no error")) << sql;
    EXPECT_EQ(test::read_text(file_), before) << sql;
  }
  EXPECT_THAT(error_of(file_, "DELETE FROM runs"), HasSubstr("only statements that read are allowed, this one writes: DELETE FROM runs"));
  EXPECT_THAT(ask("SELECT * FROM runs").rows, SizeIs(1));
}

TEST_F(Views, AreAskedWithoutTouchingOtherFiles) {
  store("r1", "2026-01-01T00:00:00Z", 5);
  const auto other = folder_ / "other.db";
  EXPECT_NE(error_of(file_, fmt::format("VACUUM INTO '{}'", other.string())), "no error");
  EXPECT_FALSE(std::filesystem::exists(other));
  Database(other.string(), OpenMode::create).exec("CREATE TABLE t (x)");
  EXPECT_THAT(error_of(file_, fmt::format("ATTACH '{}' AS o", other.string())), HasSubstr("too many attached databases"));
}

TEST_F(Views, AreAskedOneStatementAtATime) {
  store("r1", "2026-01-01T00:00:00Z", 5);
  EXPECT_THAT(error_of(file_, "SELECT 1; DELETE FROM runs"), HasSubstr("more than one SQL statement"));
  EXPECT_THAT(error_of(file_, "  -- nothing"), HasSubstr("no SQL statement"));
  EXPECT_THAT(error_of(file_, "SELECT colour"), HasSubstr("no such column: colour"));
  EXPECT_THAT(error_of(file_, "SELEC 1"), testing::AllOf(HasSubstr("syntax error"), testing::Not(HasSubstr("internal: "))));
  EXPECT_EQ(error_of(file_, "SELECT 1; -- end"), "no error");
}

TEST_F(Views, AnswerWithTypes) {
  { History history(file_); }
  const QueryResult result = query(file_, "SELECT NULL AS n, 1 AS i, 1.5 AS d, ?1 AS t WHERE ?2 > 1", {text("x"), whole(2)});
  EXPECT_THAT(result.columns, ElementsAre("n", "i", "d", "t"));
  EXPECT_THAT(result.rows, ElementsAre(ElementsAre(null, whole(1), 1.5, text("x"))));
  EXPECT_THAT(ask("SELECT 1 WHERE 0").rows, IsEmpty());
}

TEST(NetworkFileSystem, IsKnownByItsNumber) {
  EXPECT_TRUE(is_network_file_system(0x6969));
  EXPECT_TRUE(is_network_file_system(0xFF534D42));
  EXPECT_TRUE(is_network_file_system(0xFFFFFFFFFF534D42));  // sign-extended by a signed f_type
  EXPECT_TRUE(is_network_file_system(0x65735546));
  EXPECT_FALSE(is_network_file_system(0xEF53));      // ext4
  EXPECT_FALSE(is_network_file_system(0x58465342));  // XFS
  EXPECT_FALSE(is_network_file_system(0x01021994));  // tmpfs
  EXPECT_FALSE(is_network_file_system(0x794C7630));  // overlayfs
}

}  // namespace
}  // namespace attn
