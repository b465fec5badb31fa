// Writers that are killed at any moment, and writers beside each other.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

#include "sample.hpp"
#include "store/history.hpp"
#include "store/query.hpp"
#include "store/run_recorder.hpp"

namespace attn {
namespace {

using testing::IsEmpty;

pid_t start(const std::function<void()>& action) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    action();
  } catch (const std::exception& error) {
    fprintf(stderr, "writer: %s\n", error.what());
    _exit(1);
  }
  _exit(0);
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

std::int64_t number(const std::filesystem::path& file, const std::string& sql) { return std::get<std::int64_t>(query(file, sql).rows.at(0).at(0)); }

void expect_sound(const std::filesystem::path& file) {
  EXPECT_EQ(query(file, "PRAGMA integrity_check").rows.at(0).at(0), Cell("ok"));
  EXPECT_THAT(query(file, "PRAGMA foreign_key_check").rows, IsEmpty());
  // Whole measurements: each has all that its sample has.
  const std::int64_t measurements = number(file, "SELECT count(*) FROM measurements");
  EXPECT_EQ(number(file, "SELECT count(*) FROM kernels"), 2 * measurements);
  EXPECT_EQ(number(file, "SELECT count(*) FROM blocks"), 2 * measurements);
  EXPECT_EQ(number(file, "SELECT count(*) FROM times"), 6 * measurements);
  EXPECT_EQ(number(file, "SELECT count(*) FROM raw_calls"), measurements);
}

TEST(ManyProcesses, AKilledRunLeavesAReadableFileAndIsVisiblyUnfinished) {
  test::Folder folder;
  std::int64_t killed_with_rows = 0;
  for (int round = 0; round < 12; ++round) {
    const auto file = folder / fmt::format("{}.db", round / 2);  // every other round goes on with a file that saw a kill
    const std::string run_id = "r" + std::to_string(round);
    const pid_t child = start([&] {
      History history(file);
      RunRecorder recorder(history, test::sample_run(run_id, "2026-01-01T00:00:00Z", 0));
      for (std::int64_t i = 0;; ++i) {
        const Row row = test::sample_row(i);
        recorder.trial_measured(row.trial, row.measurement, {});
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + round * round * 2));
    kill(child, SIGKILL);
    EXPECT_EQ(WTERMSIG(wait_for(child)), SIGKILL);

    History history(file);
    expect_sound(file);
    for (const RunSummary& run : history.runs()) {
      EXPECT_FALSE(run.finished_at);
      EXPECT_FALSE(run.exit);
      killed_with_rows += run.measurements > 0;
      EXPECT_EQ(static_cast<std::int64_t>(history.load(run.run_id).rows.size()), run.measurements);
    }
  }
  EXPECT_GT(killed_with_rows, 0);
}

TEST(ManyProcesses, WriteOneFileAtTheSameTime) {
  test::Folder folder;
  const auto file = folder / "new/h.db";
  constexpr std::int64_t kRows = 40;
  std::vector<pid_t> children;
  for (int writer = 0; writer < 4; ++writer)
    children.push_back(start([&, writer] {
      History history(file);  // all of them create it
      const RunResult run = test::sample_run("w" + std::to_string(writer), "2026-01-01T00:00:00Z", kRows);
      RunRecorder recorder(history, run);
      for (const Row& row : run.rows) recorder.trial_measured(row.trial, row.measurement, run.environments.at(row.environment));
      recorder.finished(run);
    }));
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  expect_sound(file);
  History history(file);
  const auto runs = history.runs();
  EXPECT_EQ(runs.size(), 4u);
  for (const RunSummary& run : runs) {
    EXPECT_EQ(run.measurements, kRows);
    EXPECT_EQ(run.unjudged, 0);
    EXPECT_TRUE(run.finished_at);
  }
}

TEST(ManyProcesses, ThreadsWithAnObjectEachWriteAndReadAtTheSameTime) {
  test::Folder folder;
  const auto file = folder / "h.db";
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 3; ++writer)
    threads.emplace_back([&, writer] {
      History history(file);
      const RunResult run = test::sample_run("t" + std::to_string(writer), "2026-01-01T00:00:00Z", 20);
      RunRecorder(history, run).finished(run);
      for (int i = 0; i < 5; ++i) history.runs();
    });
  for (std::thread& thread : threads) thread.join();
  expect_sound(file);
  EXPECT_EQ(number(file, "SELECT count(*) FROM measurements"), 60);
}

TEST(ManyProcesses, PruneAndMergeBesideAWriter) {
  test::Folder folder;
  const auto file = folder / "h.db", other = folder / "other.db";
  {
    History theirs(other);
    const RunResult run = test::sample_run("merged", "2999-01-01T00:00:00Z", 3);
    RunRecorder(theirs, run).finished(run);
  }
  const pid_t child = start([&] {
    History history(file);
    for (int i = 0; i < 10; ++i) {
      const RunResult run = test::sample_run("w" + std::to_string(i), "2026-01-01T00:00:00Z", 3);
      RunRecorder(history, run).finished(run);
    }
  });
  History history(file);
  history.merge(other);
  for (int i = 0; i < 10; ++i) {
    history.prune({.keep = 1});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  wait_for(child);
  history.prune({.keep = 1});
  expect_sound(file);
  EXPECT_EQ(history.latest_run_id(), "merged");
  EXPECT_EQ(history.runs().size(), 1u);
}

}  // namespace
}  // namespace attn
