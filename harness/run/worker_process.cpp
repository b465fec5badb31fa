#include "run/worker_process.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace attn {
namespace {

using namespace std::chrono_literals;
using Clock = ChildProcess::Clock;

constexpr std::size_t kKeptOutput = 2048;
constexpr auto kGrace = 2s;  // from the end of the records to the end of the process

std::string tail(std::string text) {
  if (text.size() > kKeptOutput) text.erase(0, text.size() - kKeptOutput);
  return text;
}

std::string seconds_text(std::chrono::nanoseconds time) { return fmt::format("{:g} s", std::chrono::duration<double>(time).count()); }

}  // namespace

Worker::Worker(const WorkerCommand& command, const std::string& device, const Deadlines& deadlines, const std::atomic<bool>& interrupted)
    : deadlines_(deadlines), interrupted_(interrupted), child_(command.words, command.variables) {
  open(device);
  loading_output_ = tail(child_.take_output());
  if (!loading_output_.empty() && loading_output_.back() != '\n') loading_output_ += '\n';
}

void Worker::renew() { child_.send(R"({"renew":true})"); }

// Whatever is printed meanwhile comes from the process that ends: the next one is a copy of what the constructor saw loaded.
bool Worker::reopen(const std::string& device, const Deadlines& deadlines) {
  deadlines_ = deadlines;
  open(device);
  if (!fault_ || fault_->status != Status::crashed) return true;
  fault_.reset();
  return false;
}

void Worker::open(const std::string& device) {
  Opening opening;
  opening.device = device;
  child_.send(dump_line(to_json(opening)));
  MeasurementRecord why;
  const auto record = next(deadlines_.prepare, Clock::now() + deadlines_.prepare, "while loading", why);
  if (record && std::holds_alternative<EnvironmentRecord>(*record)) {
    facts_ = std::get<EnvironmentRecord>(*record);
  } else if (record && std::holds_alternative<MeasurementRecord>(*record)) {
    fault_ = std::get<MeasurementRecord>(*record);  // the plugin could not be loaded, or there is no such device
    alive_ = false;
    if (fault_->status == Status::ok) {  // nothing was asked yet: code under test that found the descriptor
      end(why, Status::failed, "the worker claimed success before it was asked anything");
      fault_ = why;
    }
  } else {
    if (record) end(why, Status::failed, "the worker's first record is not its environment");
    fault_ = why;
  }
}

void Worker::end(MeasurementRecord& why, Status status, const std::string& reason) {
  child_.kill();
  alive_ = false;
  why.status = status;
  why.reason = reason;
}

std::optional<Record> Worker::next(std::chrono::nanoseconds patience, Clock::time_point deadline, const std::string& during, MeasurementRecord& why) {
  std::string line;
  for (;;) {
    const auto got = child_.next(line, std::min(deadline, Clock::now() + 100ms));
    if (got == ChildProcess::Got::line) break;
    if (got == ChildProcess::Got::closed) {
      // A process that is dying closes its records first: give it a moment to say how it ended.
      const Ending ending = child_.wait(Clock::now() + kGrace);
      end(why, Status::crashed, fmt::format("{} {}", ending.text(), during));
      return std::nullopt;
    }
    if (interrupted_) {
      end(why, Status::skipped, "interrupted");
      return std::nullopt;
    }
    if (Clock::now() >= deadline) {
      end(why, Status::timed_out, fmt::format("no answer within {} {}", seconds_text(patience), during));
      return std::nullopt;
    }
  }
  try {
    return parse_record(line);
  } catch (const Error& error) {
    end(why, Status::failed, fmt::format("the worker spoke nonsense {}: {}", during, error.what()));
    return std::nullopt;
  }
}

TrialAnswer Worker::run(const Request& request, const std::function<void(Phase)>& started) {
  TrialAnswer answer;
  answer.record.trial = request.trial;
  child_.take_output();
  ChildProcess::end_orphans();  // of the copies before
  child_.send(dump_line(to_json(request)));
  std::string during = "before the first phase";
  std::optional<Phase> reached;
  auto deadline = Clock::now() + deadlines_.prepare;  // of a phase, whatever is said meanwhile
  auto patience = deadlines_.prepare;
  bool told_environment = false;
  for (;;) {
    auto record = next(patience, deadline, during, answer.record);
    if (!record) break;
    const auto belongs = [&](const auto& each) { return each.trial == request.trial; };
    if (const auto* start = std::get_if<StartedRecord>(&*record); start && belongs(*start) && (!reached || start->phase > *reached)) {
      reached = start->phase;
      during = fmt::format("in phase {}", word(start->phase));
      patience = start->phase == Phase::open ? deadlines_.prepare : deadlines_.phase;
      deadline = Clock::now() + patience;
      started(start->phase);
    } else if (const auto* block = std::get_if<BlockRecord>(&*record); block && belongs(*block) && answer.blocks.empty()) {
      answer.blocks.push_back(block->block);
    } else if (const auto* environment = std::get_if<EnvironmentRecord>(&*record); environment && !std::exchange(told_environment, true)) {
      facts_.environment = environment->environment;  // something was loaded meanwhile
    } else if (auto* closing = std::get_if<MeasurementRecord>(&*record); closing && belongs(*closing)) {
      // A backend that found the descriptor may forge an early success.
      if (closing->status == Status::ok && request.numerics && !request.supports_only && reached != Phase::numerics) {
        end(answer.record, Status::failed, fmt::format("the worker claimed success {}, before the answer was checked", during));
        break;
      }
      answer.record = std::move(*closing);
      if (answer.record.worker_ends) {  // by its own word; the next request needs another worker
        child_.kill();
        alive_ = false;
      }
      break;
    } else {
      end(answer.record, Status::failed, fmt::format("the worker sent a record that was not asked for {}", during));
      break;
    }
  }
  if (answer.record.status != Status::ok) answer.output = loading_output_ + tail(child_.take_output());
  return answer;
}

}  // namespace attn
