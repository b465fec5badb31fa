#include "base/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "base/error.hpp"

namespace attn {
namespace {

constexpr std::size_t kLongestLine = 64u << 20, kKeptOutput = 64u << 10;
constexpr long long kLookEvery = 100;  // milliseconds between two looks at whether the child still lives

struct Pipe {
  Descriptor read, write;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error(fmt::format("pipe: {}", strerror(errno)), Fault::internal);
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
};

// Runs in the child between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(char* const* argv, char** variables, int requests, int records, int output, int null, int failure, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);  // a crash is reported, not dumped into the user's folder
  // Sources may sit on 3 or 4 themselves: move them out of the way first.
  const int moved_requests = fcntl(requests, F_DUPFD_CLOEXEC, 10), moved_records = fcntl(records, F_DUPFD_CLOEXEC, 10);
  const int moved_failure = fcntl(failure, F_DUPFD_CLOEXEC, 10);
  dup2(null, 0);
  dup2(output, 1);
  dup2(output, 2);
  dup2(moved_requests, ChildProcess::kRequests);
  dup2(moved_records, ChildProcess::kRecords);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  environ = variables;
  execvp(argv[0], argv);
  const int error = errno;
  [[maybe_unused]] const auto written = write(moved_failure, &error, sizeof error);
  _exit(127);
}

// This process's own with `variables` laid over them, as NAME=VALUE.
std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> entries;
  for (char** own = environ; *own; ++own) {
    const std::string entry = *own;
    if (!variables.contains(entry.substr(0, entry.find('=')))) entries.push_back(entry);
  }
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

std::set<pid_t> children() {
  std::set<pid_t> pids;
  std::error_code none;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", none)) {
    std::ifstream file(task.path() / "children");
    for (pid_t pid = 0; file >> pid;) pids.insert(pid);
  }
  return pids;
}

// The children that are somebody's; every other one is an orphan. A shell that became this program by `exec` may have had some before.
std::set<pid_t>& living() {
  static std::set<pid_t> pids = children();
  return pids;
}

std::vector<pid_t> orphans() {
  std::vector<pid_t> found;
  std::ranges::set_difference(children(), living(), std::back_inserter(found));
  return found;
}

std::vector<char*> null_ended(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::string Ending::text() const {
  if (signal == 0) return fmt::format("exit code {}", exit_code);
  const char* name = sigabbrev_np(signal);
  return fmt::format("SIG{} ({})", name ? name : std::to_string(signal), sigdescr_np(signal) ? sigdescr_np(signal) : "unknown signal");
}

ChildProcess::ChildProcess(const std::vector<std::string>& command, const Variables& variables) {
  Pipe requests, records, output, failure;
  Descriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::vector<std::string> environment = environment_with(variables);
  const std::vector<char*> argv = null_ended(command);
  std::vector<char*> entries = null_ended(environment);
  const pid_t parent = getpid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::set<pid_t>& known = living();
  pid_ = fork();
  if (pid_ < 0) throw Error(fmt::format("fork: {}", strerror(errno)), Fault::internal);
  if (pid_ == 0) become(argv.data(), entries.data(), requests.read.get(), records.write.get(), output.write.get(), null.get(), failure.write.get(), parent);
  known.insert(pid_);
  setpgid(pid_, pid_);  // both sides set it, so that kill() cannot come too early
  failure.write.reset();
  int error = 0;
  ssize_t got = 0;
  while ((got = read(failure.read.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (got == sizeof error) {
    kill();
    throw Error(fmt::format("cannot start {}: {}", command.front(), strerror(error)));
  }
  requests_ = std::move(requests.write);
  records_ = std::move(records.read);
  output_ = std::move(output.read);
  fcntl(records_.get(), F_SETFL, O_NONBLOCK);
  fcntl(output_.get(), F_SETFL, O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && !ending_) kill();
}

void ChildProcess::send(const std::string& line) {
  const std::string text = line + "\n";
  std::size_t sent = 0;
  while (requests_ && sent < text.size()) {
    const ssize_t n = write(requests_.get(), text.data() + sent, text.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return requests_.reset();
    sent += static_cast<std::size_t>(n);
  }
}

bool ChildProcess::read_some(int timeout_ms) {
  pollfd polled[2] = {{records_.get(), POLLIN, 0}, {output_.get(), POLLIN, 0}};
  if (!records_ && !output_) return false;
  if (poll(polled, 2, timeout_ms) <= 0) return true;
  char chunk[65536];
  const auto drain = [&](Descriptor& from, std::string& into) {
    const ssize_t n = read(from.get(), chunk, sizeof chunk);
    if (n > 0) into.append(chunk, static_cast<std::size_t>(n));
    else if (n == 0 || (errno != EAGAIN && errno != EINTR)) from.reset();
  };
  if (polled[0].revents) drain(records_, buffered_records_);
  if (polled[1].revents) drain(output_, captured_);
  if (captured_.size() > 2 * kKeptOutput) captured_.erase(0, captured_.size() - kKeptOutput);
  return true;
}

bool ChildProcess::dead() const {
  siginfo_t info{};
  return ending_ || (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_);
}

ChildProcess::Got ChildProcess::next(std::string& line, Clock::time_point deadline) {
  std::size_t searched = 0;
  for (;;) {
    if (const auto end = buffered_records_.find('\n', searched); end != std::string::npos) {
      line.assign(buffered_records_, 0, end);
      buffered_records_.erase(0, end + 1);
      return Got::line;
    }
    searched = buffered_records_.size();
    if (!records_ || searched > kLongestLine) return Got::closed;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    // What a dead child wrote is in the pipe already: read until nothing new comes.
    const bool was_dead = dead();
    if (left <= 0 && !was_dead) return Got::deadline;
    read_some(was_dead ? 0 : static_cast<int>(std::min<long long>(left + 1, kLookEvery)));
    if (was_dead && buffered_records_.size() == searched) return Got::closed;
  }
}

Ending ChildProcess::kill() { return wait(Clock::now()); }

Ending ChildProcess::wait(Clock::time_point deadline) {
  if (ending_) return *ending_;
  int status = 0;
  for (;;) {
    const pid_t got = waitpid(pid_, &status, WNOHANG);
    if (got == pid_) break;
    if (Clock::now() >= deadline) {
      ::kill(-pid_, SIGKILL);
      ::kill(pid_, SIGKILL);
      while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
      }
      break;
    }
    read_some(5);
    if (!records_ && !output_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(-pid_, SIGKILL);  // grandchildren die with it
  living().erase(pid_);
  end_orphans();
  ending_ = Ending{WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
  return *ending_;
}

void ChildProcess::end_orphans() {
  // Their own children come here in turn.
  for (std::vector<pid_t> left = orphans(); !left.empty(); left = orphans())
    for (const pid_t pid : left) {
      ::kill(pid, SIGKILL);
      while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
}

std::string ChildProcess::take_output() {
  // A few reads: a child that prints for ever must not hold its reader.
  for (int reads = 0; output_ && reads < 64; ++reads) {
    const std::size_t before = captured_.size();
    read_some(0);
    if (captured_.size() == before) break;
  }
  if (captured_.size() > kKeptOutput) captured_.erase(0, captured_.size() - kKeptOutput);
  return std::exchange(captured_, {});
}

}  // namespace attn
