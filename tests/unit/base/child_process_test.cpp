#include "base/child_process.hpp"

#include <gmock/gmock.h>

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.hpp"

namespace attn {
namespace {

using namespace std::chrono_literals;
using Clock = ChildProcess::Clock;
using Got = ChildProcess::Got;

TEST(ChildProcess, SpeaksInLinesOnItsOwnDescriptors) {
  ChildProcess child({"/bin/sh", "-c", "while read line <&3; do echo \"heard $line\" >&4; done"});
  child.send("one");
  std::string line;
  ASSERT_EQ(child.next(line, Clock::now() + 5s), Got::line);
  EXPECT_EQ(line, "heard one");
  child.finish_requests();
  EXPECT_EQ(child.next(line, Clock::now() + 5s), Got::closed);
  EXPECT_EQ(child.wait(Clock::now() + 5s).exit_code, 0);
}

TEST(ChildProcess, CapturesWhatIsPrintedAndKeepsItFromTheRecords) {
  ChildProcess child({"/bin/sh", "-c", "echo out; echo err >&2; echo record >&4"});
  std::string line;
  ASSERT_EQ(child.next(line, Clock::now() + 5s), Got::line);
  EXPECT_EQ(line, "record");
  child.wait(Clock::now() + 5s);
  const std::string output = child.take_output();
  EXPECT_THAT(output, testing::HasSubstr("out"));
  EXPECT_THAT(output, testing::HasSubstr("err"));
}

TEST(ChildProcess, HasItsOwnVariablesOverThoseOfThisProcess) {
  setenv("ATTN_TEST_KEPT", "kept", 1);
  setenv("ATTN_TEST_SET", "outside", 1);
  ChildProcess child({"/bin/sh", "-c", "echo \"$ATTN_TEST_KEPT,$ATTN_TEST_SET,$ATTN_TEST_NEW\" >&4"}, {{"ATTN_TEST_SET", "a=b c"}, {"ATTN_TEST_NEW", ""}});
  std::string line;
  ASSERT_EQ(child.next(line, Clock::now() + 5s), Got::line);
  EXPECT_EQ(line, "kept,a=b c,");
  EXPECT_STREQ(getenv("ATTN_TEST_SET"), "outside");
}

TEST(ChildProcess, FindsItsProgramOnItsOwnPath) {
  const std::string folder = testing::TempDir() + "child_process_path";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/only-here") << "#!/bin/sh\necho found >&4\n";
  std::filesystem::permissions(folder + "/only-here", std::filesystem::perms::owner_all);
  ChildProcess child({"only-here"}, {{"PATH", folder}});
  std::string line;
  ASSERT_EQ(child.next(line, Clock::now() + 5s), Got::line);
  EXPECT_EQ(line, "found");
}

TEST(ChildProcess, NamesTheSignalThatEndedIt) {
  ChildProcess child({"/bin/sh", "-c", "kill -SEGV $$"});
  std::string line;
  EXPECT_EQ(child.next(line, Clock::now() + 5s), Got::closed);
  EXPECT_EQ(child.wait(Clock::now() + 5s).text(), "SIGSEGV (Segmentation fault)");
}

TEST(ChildProcess, KillsTheWholeGroupAtTheDeadline) {
  ChildProcess child({"/bin/sh", "-c", "trap '' TERM; sleep 1000 & echo $! >&4; wait"});
  std::string grandchild, line;
  ASSERT_EQ(child.next(grandchild, Clock::now() + 5s), Got::line);
  EXPECT_EQ(child.next(line, Clock::now() + 50ms), Got::deadline);
  EXPECT_EQ(child.kill().signal, SIGKILL);
  // The grandchild is reparented and reaped by init, some moment later; a zombie no longer counts as alive.
  const std::string state = "/proc/" + grandchild + "/stat";
  bool gone = false;
  for (int i = 0; i < 200 && !gone; ++i, std::this_thread::sleep_for(10ms)) {
    FILE* file = fopen(state.c_str(), "r");
    char name[64] = {}, letter = 'X';
    gone = !file || fscanf(file, "%*d %63s %c", name, &letter) != 2 || letter == 'Z' || letter == 'X';
    if (file) fclose(file);
  }
  EXPECT_TRUE(gone);
}

TEST(ChildProcess, NothingOutlivesItInASessionOfItsOwn) {
  ChildProcess child({"/bin/sh", "-c", "setsid sh -c 'echo $$ >&4; exec sleep 60' & sleep 60"});
  std::string detached;
  ASSERT_EQ(child.next(detached, Clock::now() + 5s), Got::line);
  EXPECT_EQ(kill(std::stoi(detached), 0), 0);
  child.kill();
  EXPECT_NE(kill(std::stoi(detached), 0), 0) << detached << " lives";
}

TEST(ChildProcess, OrphansEndWhileOthersGoOn) {
  ChildProcess other({"/bin/sh", "-c", "read line <&3; echo \"$line\" >&4"});
  ChildProcess parent({"/bin/sh", "-c", "(setsid sh -c 'echo $$ >&4; exec sleep 60' &) ; read line <&3"});
  std::string detached, line;
  ASSERT_EQ(parent.next(detached, Clock::now() + 5s), Got::line);
  ChildProcess::end_orphans();
  EXPECT_NE(kill(std::stoi(detached), 0), 0) << detached << " lives";
  other.send("still here");
  ASSERT_EQ(other.next(line, Clock::now() + 5s), Got::line);
  EXPECT_EQ(line, "still here");
}

// In a process of its own, which has made no ChildProcess yet.
TEST(ChildProcessDeathTest, LeavesAloneWhatWasThereBefore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const pid_t before = fork();
        if (before == 0) {
          execlp("sleep", "sleep", "60", nullptr);
          _exit(127);
        }
        ChildProcess({"/bin/true"}).wait(Clock::now() + 5s);
        ChildProcess::end_orphans();
        const bool ended = waitpid(before, nullptr, WNOHANG) != 0;
        kill(before, SIGKILL);
        _exit(ended);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ChildProcess, IsKnownToBeDeadThoughAGrandchildHoldsItsRecords) {
  ChildProcess child({"/bin/sh", "-c", "echo last >&4; sleep 1000 & exit 7"});
  std::string line;
  ASSERT_EQ(child.next(line, Clock::now() + 5s), Got::line);
  EXPECT_EQ(child.next(line, Clock::now() + 5s), Got::closed);
  EXPECT_EQ(child.wait(Clock::now() + 5s).exit_code, 7);
}

TEST(ChildProcess, SurvivesAFloodOfOutput) {
  ChildProcess child({"/bin/sh", "-c", "head -c 5000000 /dev/zero; echo done >&4"});
  std::string line;
  ASSERT_EQ(child.next(line, Clock::now() + 20s), Got::line);
  EXPECT_EQ(line, "done");
  EXPECT_LE(child.take_output().size(), 64u << 10);
}

TEST(ChildProcess, GivesItAnEmptyInput) {
  ChildProcess child({"/bin/sh", "-c", "if read line; then echo something >&4; else echo nothing >&4; fi"});
  std::string line;
  ASSERT_EQ(child.next(line, Clock::now() + 5s), Got::line);
  EXPECT_EQ(line, "nothing");
}

TEST(ChildProcess, SaysWhatCannotBeStarted) {
  try {
    ChildProcess child({"/no/such/program"});
    FAIL() << "started";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("/no/such/program"));
  }
}

TEST(ChildProcess, DoesNotMindAReaderThatIsGone) {
  ChildProcess child({"/bin/sh", "-c", "exec 3<&-; sleep 0.05; echo done >&4"});
  signal(SIGPIPE, SIG_IGN);
  std::this_thread::sleep_for(20ms);
  child.send(std::string(1 << 20, 'x'));
  std::string line;
  EXPECT_EQ(child.next(line, Clock::now() + 5s), Got::line);
}

}  // namespace
}  // namespace attn
