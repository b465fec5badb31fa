#include <gmock/gmock.h>

#include <filesystem>

#include "cli/program.hpp"
#include "store/baseline_files.hpp"
#include "store/run_recorder.hpp"

namespace attn {
namespace {

using testing::HasSubstr;

constexpr const char* kCase = "tiny:fp32/b1/h2/q32.k32/d16";

// A database with a run, and a folder of baselines, in a folder of their own.
class BaselineCommand : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }

  Row row(const std::string& backend, Outcome outcome, std::int64_t copies, double device_ns, Status status = Status::ok) {
    Row row;
    row.trial.index = index_++;
    row.trial.suite = row.measurement.suite = "tiny";
    row.trial.id = row.measurement.case_id = kCase;
    row.trial.value = parse_case_id(kCase);
    row.trial.backend.name = row.measurement.backend = backend;
    row.measurement.arch = "cpu.test";
    row.measurement.platform = "cpu.test.2t";
    row.measurement.status = status;
    row.measurement.counts = {CountRange{5, 5}, CountRange{copies, copies}, CountRange{0, 0}, CountRange{0, 0}};
    if (device_ns > 0) row.measurement.blocks.emplace_back().device_ns = device_ns;
    row.verdict.outcome = outcome;
    return row;
  }

  void store(const std::string& run_id, const std::string& started_at, std::vector<Row> rows, bool compares = false) {
    RunResult run;
    if (compares) run.comparison.emplace();
    run.run_id = run_id;
    run.started_at = run.finished_at = started_at;
    Environment environment;
    environment.arch = "cpu.test";
    environment.platform = "cpu.test.2t";
    run.environments = {environment};
    run.rows = std::move(rows);
    History history(folder_ + "/history.db");
    RunRecorder(history, run).finished(run);
  }

  int command(std::vector<std::string> words) {
    words.insert(words.begin(), {"attn-regress", "baseline"});
    words.insert(words.end(), {"--baseline", folder_ + "/baselines"});
    if (words[2] != "show") words.insert(words.end(), {"--db", folder_ + "/history.db"});
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = run_program(words);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }

  const Baseline* baseline(const std::string& backend) {
    loaded_.emplace(BaselineStore(folder_ + "/baselines").load("tiny"));
    return loaded_->find_times(kCase, backend, DeviceType::cpu, "cpu.test.2t");
  }

  std::string folder_ = testing::TempDir() + "baseline_command." + testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string out_, err_;
  std::int64_t index_ = 0;
  std::optional<SuiteBaselines> loaded_;
};

TEST_F(BaselineCommand, MakesNothingOfARunThatComparesTwoSides) {
  store("plain", "2026-01-01T00:00:00Z", {row("naive", Outcome::no_baseline, 1, 1000)});
  store("compared", "2026-02-01T00:00:00Z", {row("naive", Outcome::regressed, 2, 2000)}, true);
  for (const char* act : {"record", "accept", "diff"}) {
    std::vector<std::string> words{act, "tiny", "--run", "compared"};
    if (words[0] == "accept") words.insert(words.end(), {"--reason", "x"});
    EXPECT_EQ(command(words), 4) << act;
    EXPECT_THAT(err_, HasSubstr("run compared compared two sides")) << act;
  }
  EXPECT_EQ(command({"record", "tiny"}), 0);  // the newest that is none
  EXPECT_EQ(baseline("naive")->counts.copies, (CountRange{1, 1}));
}

TEST_F(BaselineCommand, RecordsWhatWasJudgedGoodAndLeavesTheRestOut) {
  store("r1", "2025-01-01T00:00:00Z", {row("good", Outcome::no_baseline, 0, 1000), row("slow", Outcome::regressed, 0, 9000),
                                       row("bad", Outcome::wrong, 0, 1000, Status::wrong)});
  EXPECT_EQ(command({"record", "tiny"}), 0);
  EXPECT_THAT(out_, HasSubstr("1 added, 0 changed"));
  EXPECT_THAT(err_, HasSubstr("left out: 2 rows"));
  ASSERT_TRUE(baseline("good"));
  EXPECT_EQ(baseline("good")->device_ns, std::vector<double>{1000});
  EXPECT_FALSE(baseline("slow"));
  EXPECT_FALSE(baseline("bad"));
}

TEST_F(BaselineCommand, AcceptsRightResultsWithTheReasonAndNoWrongOnes) {
  store("r1", "2025-01-01T00:00:00Z", {row("slow", Outcome::regressed, 1, 9000), row("same", Outcome::pass, 0, 1000),
                                       row("bad", Outcome::wrong, 0, 1000, Status::wrong)});
  EXPECT_EQ(command({"accept", "--reason", "safer"}), 0);
  EXPECT_FALSE(baseline("same"));  // a row that passed keeps what it has
  ASSERT_TRUE(baseline("slow"));
  EXPECT_EQ(baseline("slow")->accepted, "safer");
  EXPECT_EQ(baseline("slow")->counts.copies, (CountRange{1, 1}));
  EXPECT_FALSE(baseline("bad"));
  EXPECT_THAT(err_, HasSubstr("not accepted: bad " + std::string(kCase) + ": wrong"));
}

TEST_F(BaselineCommand, AcceptsOnlyWhatTheOptionsSelect) {
  store("r1", "2025-01-01T00:00:00Z", {row("a", Outcome::regressed, 1, 9000), row("b", Outcome::regressed, 1, 9000)});
  EXPECT_EQ(command({"accept", "--reason", "x", "--filter", "other"}), 4);
  EXPECT_EQ(command({"accept", "--reason", "x", "--filter=-^tiny"}), 4);
  EXPECT_EQ(command({"accept", "--reason", "x", "--filter", "^tiny:", "--backend", "a"}), 0);
  EXPECT_TRUE(baseline("a"));
  EXPECT_FALSE(baseline("b"));
}

// Latency of later runs leans on them.
TEST_F(BaselineCommand, AcceptsTheControlRowsThatTheFileLacksAndThoseOfAMachineThatChanged) {
  const auto control = [&](double device_ns) {
    Row fixed_work = row("control.matrix", Outcome::no_baseline, 0, device_ns);
    fixed_work.measurement.control = true;
    return fixed_work;
  };
  store("r1", "2025-01-01T00:00:00Z", {row("a", Outcome::no_baseline, 0, 1000), row("b", Outcome::wrong, 0, 1000, Status::wrong), control(500)});
  EXPECT_EQ(command({"accept", "--reason", "x", "--backend", "b"}), 4);
  EXPECT_FALSE(baseline("control.matrix")) << "nothing was accepted beside it";
  ASSERT_EQ(command({"accept", "--reason", "x", "--backend", "a"}), 0);
  ASSERT_TRUE(baseline("control.matrix"));
  EXPECT_EQ(baseline("control.matrix")->device_ns, std::vector<double>{500});

  store("r2", "2025-01-02T00:00:00Z", {row("a", Outcome::regressed, 0, 2000), control(700)});
  ASSERT_EQ(command({"accept", "--reason", "x"}), 0);
  EXPECT_EQ(baseline("control.matrix")->device_ns, std::vector<double>{500}) << "the other rows' times are held against it";

  store("r3", "2025-01-03T00:00:00Z", {row("a", Outcome::environment_shift, 0, 3000), control(900)});
  ASSERT_EQ(command({"accept", "--reason", "x"}), 0);
  EXPECT_EQ(baseline("control.matrix")->device_ns, std::vector<double>{900});
}

TEST_F(BaselineCommand, KeepsTheTimesThatARunWithFewerGatesDidNotMeasure) {
  store("r1", "2025-01-01T00:00:00Z", {row("a", Outcome::no_baseline, 0, 1000)});
  ASSERT_EQ(command({"record", "tiny"}), 0);
  store("r2", "2025-01-02T00:00:00Z", {row("a", Outcome::regressed, 1, 0)});
  ASSERT_EQ(command({"accept", "--reason", "x"}), 0);
  EXPECT_EQ(baseline("a")->counts.copies, (CountRange{1, 1}));
  EXPECT_EQ(baseline("a")->device_ns, std::vector<double>{1000});
}

TEST_F(BaselineCommand, ComparesTheNewestRunOrTheOneThatIsNamed) {
  store("r1", "2025-01-01T00:00:00Z", {row("a", Outcome::no_baseline, 0, 1000)});
  ASSERT_EQ(command({"record", "tiny"}), 0);
  store("r2", "2025-01-02T00:00:00Z", {row("a", Outcome::regressed, 1, 1000)});
  EXPECT_EQ(command({"diff", "--exit-code"}), 1);
  EXPECT_THAT(out_, HasSubstr("copies 0 -> 1"));
  EXPECT_EQ(command({"diff"}), 0);
  EXPECT_EQ(command({"diff", "--exit-code", "--run", "r1"}), 0);
  EXPECT_THAT(out_, HasSubstr("agree"));
}

TEST_F(BaselineCommand, ShowsWhatIsCommitted) {
  EXPECT_EQ(command({"show"}), 4);
  store("r1", "2025-01-01T00:00:00Z", {row("a", Outcome::no_baseline, 0, 1000)});
  ASSERT_EQ(command({"record", "tiny"}), 0);
  EXPECT_EQ(command({"show"}), 0);
  EXPECT_THAT(out_, testing::AllOf(HasSubstr(kCase), HasSubstr("1.00 us"), HasSubstr("cpu.test.2t")));
}

TEST_F(BaselineCommand, SaysThatThereIsNoRun) {
  EXPECT_EQ(command({"record", "tiny"}), 4);
  store("r1", "2025-01-01T00:00:00Z", {row("a", Outcome::no_baseline, 0, 1000)});
  EXPECT_EQ(command({"record", "other"}), 4);
  EXPECT_THAT(err_, HasSubstr("holds no run of suite \"other\""));
}

}  // namespace
}  // namespace attn
