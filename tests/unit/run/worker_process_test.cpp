#include "run/worker_process.hpp"

#include <gmock/gmock.h>

namespace attn {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::atomic<bool> kNever{false};

// A worker that is a shell script: `environment` is said first, then one line of the script per request.
class ScriptedWorker {
 public:
  explicit ScriptedWorker(const std::string& script, bool greets = true)
      : worker_({{"/bin/sh", "-c", "read opening <&3; " + (greets ? "echo '" + record_line(EnvironmentRecord{}) + "' >&4; " : std::string()) + script}}, "cpu", {300ms, 300ms}, kNever) {}
  TrialAnswer run() {
    Request request;
    request.trial = 7;
    return worker_.run(request, [&](Phase phase) { phases_.push_back(phase); });
  }
  Worker& operator*() { return worker_; }
  const std::vector<Phase>& phases() const { return phases_; }

 private:
  Worker worker_;
  std::vector<Phase> phases_;
};

std::string say(const auto& record) { return "echo '" + record_line(record) + "' >&4; "; }
std::string closing(std::int64_t trial = 7, Status status = Status::ok) {
  MeasurementRecord record;
  record.trial = trial;
  record.status = status;
  return say(record);
}
const std::string kAwait = "read request <&3; ";

TEST(Worker, GivesPhasesBlocksAndTheClosingRecord) {
  BlockRecord block;
  block.trial = 7;
  block.block.device_ns = 5;
  ScriptedWorker worker(kAwait + say(StartedRecord{7, Phase::open}) + say(StartedRecord{7, Phase::bare}) + say(block) + say(StartedRecord{7, Phase::numerics}) + closing() + "read more <&3");
  const TrialAnswer answer = worker.run();
  EXPECT_EQ(answer.record.status, Status::ok);
  ASSERT_EQ(answer.blocks.size(), 1u);
  EXPECT_EQ(answer.blocks[0].device_ns, 5);
  EXPECT_THAT(worker.phases(), testing::ElementsAre(Phase::open, Phase::bare, Phase::numerics));
  EXPECT_TRUE((*worker).alive());
}

TEST(Worker, BeginsAgainWhereAnotherProcessIsKept) {
  const std::string again = kAwait + "[ \"$request\" = '{\"renew\":true}' ] || exit 1; read opening <&3; ";
  ScriptedWorker worker(again + say(EnvironmentRecord{}) + kAwait + say(StartedRecord{7, Phase::open}) + say(StartedRecord{7, Phase::numerics}) + closing() + "read more <&3");
  (*worker).renew();
  EXPECT_TRUE((*worker).reopen("cpu", {300ms, 300ms}));
  EXPECT_EQ(worker.run().record.status, Status::ok);

  ScriptedWorker over(kAwait + "exit 2");
  (*over).renew();
  EXPECT_FALSE((*over).reopen("cpu", {300ms, 300ms}));
  EXPECT_FALSE((*over).fault());
  EXPECT_FALSE((*over).alive());
}

TEST(Worker, NamesSignalAndPhaseOfACrashAndKeepsWhatItPrinted) {
  ScriptedWorker worker(kAwait + say(StartedRecord{7, Phase::accounting}) + "echo last words; kill -SEGV $$");
  const TrialAnswer answer = worker.run();
  EXPECT_EQ(answer.record.status, Status::crashed);
  EXPECT_EQ(answer.record.reason, "SIGSEGV (Segmentation fault) in phase accounting");
  EXPECT_THAT(answer.output, HasSubstr("last words"));
  EXPECT_FALSE((*worker).alive());
}

TEST(Worker, KeepsWhatItPrintedWhileLoadingForEveryTrialThatDoesNotEndWell) {
  const std::string fails = kAwait + "echo of the trial; " + closing(7, Status::failed);
  const std::string greets = "read opening <&3; " + say(EnvironmentRecord{});
  ScriptedWorker worker("echo of the import >&2; " + say(EnvironmentRecord{}) + fails + fails + "read renewal <&3; echo of the end; " + greets + fails, false);
  EXPECT_EQ((*worker).loading_output(), "of the import\n");
  EXPECT_EQ(worker.run().output, "of the import\nof the trial\n");
  EXPECT_EQ(worker.run().output, "of the import\nof the trial\n");
  (*worker).renew();
  ASSERT_TRUE((*worker).reopen("cpu", {300ms, 300ms}));
  EXPECT_EQ(worker.run().output, "of the import\nof the trial\n");
}

TEST(Worker, KeepsTheTailOfWhatItPrintedWhileLoadingAlsoWhenThatFailed) {
  ScriptedWorker dead("yes first | head -n 5000; printf 'last words'; exit 9", false);
  ASSERT_TRUE((*dead).fault());
  EXPECT_THAT((*dead).loading_output(), testing::EndsWith("first\nlast words\n"));
  EXPECT_LE((*dead).loading_output().size(), 2049u);
}

TEST(Worker, CallsASilentExitACrash) {
  ScriptedWorker worker(kAwait + say(StartedRecord{7, Phase::bare}) + "exit 0");
  const TrialAnswer answer = worker.run();
  EXPECT_EQ(answer.record.status, Status::crashed);
  EXPECT_EQ(answer.record.reason, "exit code 0 in phase bare");
}

TEST(Worker, IsKilledAtTheDeadlineOfItsPhase) {
  ScriptedWorker worker(kAwait + say(StartedRecord{7, Phase::bare}) + "trap '' TERM; sleep 100");
  const TrialAnswer answer = worker.run();
  EXPECT_EQ(answer.record.status, Status::timed_out);
  EXPECT_EQ(answer.record.reason, "no answer within 0.3 s in phase bare");
}

TEST(Worker, IsNotBelievedWhenItSpeaksNonsense) {
  ScriptedWorker nonsense(kAwait + "echo 'rubbish {' >&4; sleep 1");
  EXPECT_EQ(nonsense.run().record.status, Status::failed);
  ScriptedWorker foreign(kAwait + closing(8) + "sleep 1");
  EXPECT_THAT(foreign.run().record.reason, HasSubstr("not asked for"));
}

TEST(Worker, IsNotBelievedWhenItClaimsSuccessBeforeTheCheck) {
  ScriptedWorker forger(kAwait + say(StartedRecord{7, Phase::bare}) + closing() + "sleep 1");
  EXPECT_THAT(forger.run().record.reason, HasSubstr("claimed success in phase bare"));
}

TEST(Worker, SaysWhyItNeverCameUp) {
  ScriptedWorker dead("exit 9", false);
  ASSERT_TRUE((*dead).fault());
  EXPECT_EQ((*dead).fault()->status, Status::crashed);
  EXPECT_EQ((*dead).fault()->reason, "exit code 9 while loading");
  ScriptedWorker hanging("sleep 100", false);
  ASSERT_TRUE((*hanging).fault());
  EXPECT_EQ((*hanging).fault()->status, Status::timed_out);
  MeasurementRecord unloadable;
  unloadable.status = Status::unsupported;
  unloadable.reason = "cannot load the plugin";
  ScriptedWorker broken(say(unloadable), false);
  ASSERT_TRUE((*broken).fault());
  EXPECT_EQ((*broken).fault()->reason, "cannot load the plugin");
}

TEST(Worker, StopsWhenInterrupted) {
  const std::atomic<bool> interrupted{true};
  const auto start = std::chrono::steady_clock::now();
  Worker worker({{"/bin/sh", "-c", "sleep 100"}}, "cpu", {100s, 100s}, interrupted);
  EXPECT_TRUE(worker.fault());
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

}  // namespace
}  // namespace attn
