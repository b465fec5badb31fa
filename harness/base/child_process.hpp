#pragma once
// A child process that speaks in lines on descriptors of its own, in its own process group, with captured output and a deadline.

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/handle.hpp"

namespace attn {

using Descriptor = Handle<int, close, -1>;

using Variables = std::map<std::string, std::string>;  // of an environment, by name

// How a process ended.
struct Ending {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;      // 0 when it exited
  std::string text() const;  // "exit code 3", "SIGSEGV (segmentation fault)"
};

class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;

  // Starts `command` (looked up on PATH when it has no slash) with standard input empty, standard output and error captured, requests readable on
  // descriptor 3 and records writable on descriptor 4, and `variables` laid over this process's own. The child is killed when this process dies. Throws Error
  // when it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& command, const Variables& variables = {});
  ~ChildProcess();  // kills what still lives
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  static constexpr int kRequests = 3, kRecords = 4;

  // Writes one line; a child that no longer reads is no error here: its records say what happened.
  void send(const std::string& line);
  // Tells the child that no more requests come.
  void finish_requests() { requests_.reset(); }

  enum class Got { line, closed, deadline };
  // Waits for the next record. `closed`: the child closed its records, or it died (also when a grandchild holds them open). A line longer than 64 MiB counts
  // as `closed`.
  Got next(std::string& line, Clock::time_point deadline);

  // Kills the whole group, waits for the child. Safe to call twice.
  Ending kill();
  // Waits up to `deadline` for the child to end by itself, then kills it.
  Ending wait(Clock::time_point deadline);

  // Kills what children left behind in sessions of their own, which comes to this process when their parents die: it would work beside whatever is measured next.
  static void end_orphans();

  // What it printed, stdout and stderr together: the last 64 KiB. Empties the buffer.
  std::string take_output();

 private:
  bool read_some(int timeout_ms);  // false: both pipes are closed
  bool dead() const;               // ended, and not yet waited for

  pid_t pid_ = -1;
  std::optional<Ending> ending_;
  Descriptor requests_, records_, output_;
  std::string buffered_records_, captured_;
};

}  // namespace attn
