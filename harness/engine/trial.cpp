#include "engine/trial.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "engine/backend_list.hpp"
#include "engine/backend_session.hpp"
#include "engine/clock.hpp"
#include "engine/host_environment.hpp"
#include "engine/memory_watch.hpp"
#include "engine/merge_heads.hpp"
#include "engine/numerics.hpp"
#include "engine/op_recorder.hpp"
#include "engine/tensors.hpp"
#include "stats/summary.hpp"
#include "stats/drift.hpp"

namespace attn {
namespace {

constexpr int kAccountedCalls = 3;
constexpr double kCheckedFlops = 1e9;  // of the rows that the reference evaluates, per output
constexpr double kMemoryShare = 0.8;  // of the machine's memory that one trial may take

// One case on one backend, opened. Each phase is a function; run_trial is their order.
class OpenTrial {
 public:
  OpenTrial(const attn_backend& backend, const Case& value, const attn_problem& problem, const attn_device_facts& device, const Request& request,
            CacheFlush& flush, std::uint64_t workspace_bytes)
      : case_(value), request_(request), tensors_(value), flush_(flush), control_(request.control),
        reports_(backend.flags & ATTN_FLAG_REPORTS_OPS), owns_output_(backend.flags & ATTN_FLAG_OWNS_OUTPUT) {
    tensors_.fill(request.seed);
    tensors_.poison_output();
    session_.emplace(backend, problem, device, tensors_, request.options, workspace_bytes);
    block_.plan_ns = session_->open_ns();
  }

  // First, second and timed calls; nothing listens. The last timed output is kept for the numerics.
  void bare() {
    block_.first_ns = call();
    check_damage();
    block_.second_ns = call();
    std::vector<double> samples;
    const std::int64_t start = now_ns();
    for (;;) {
      const std::int64_t spent = now_ns() - start, count = static_cast<std::int64_t>(samples.size());
      if (count >= request_.max_calls || (count >= request_.min_calls && spent >= request_.timing_ns)) break;
      if (count >= 3 && spent >= 4 * std::max<std::int64_t>(request_.timing_ns, 1'000'000'000)) break;  // calls so slow that fewer must do
      samples.push_back(call());
    }
    check_damage();
    if (request_.numerics && !control_) last_ = copy_dense(output_, last_storage_);
    if (!request_.timing) return;
    block_.instrument = Instrument::reported;
    block_.calls = static_cast<std::int64_t>(samples.size());
    // On a CPU the call does its work before it returns: enqueueing it, its span and its device time are one and the same.
    block_.host_ns = block_.span_ns = block_.device_ns = median(samples);
    block_.drift = thirds_ratio(samples);
  }

  const Block& block() const { return block_; }

  // The operations of some further calls.
  void account(MeasurementRecord& record) {
    if (!reports_) return;
    OpRecorder recorder;
    for (int i = 0; i < kAccountedCalls; ++i) {
      tensors_.poison_output();
      const std::int64_t start = now_ns();
      session_->run(recorder.abi());
      if (case_.then == Then::merge_heads) merge_heads_(written_output(), &recorder);
      CallActivities activities = recorder.take();
      for (Activity& activity : activities) {
        activity.start_ns -= start;
        activity.end_ns -= start;
      }
      record.calls.push_back(std::move(activities));
    }
    record.counted = true;
  }

  // The last timed output, then two calls on other inputs: a cached answer, a race, or an answer that is right in every other call shows there.
  void check_numerics(MeasurementRecord& record) {
    if (control_) return;
    if (!check(last_, TensorView{}, record)) return;
    tensors_.fill(request_.seed + 1);
    call();
    check_damage();
    if (!check(output_, last_, record)) {
      record.reason += " (in a call on other inputs)";
      return;
    }
    GuardedBuffer first, second;
    copy_dense(output_, first);
    call();
    check_damage();
    copy_dense(output_, second);
    if (std::memcmp(first.data(), second.data(), first.bytes()) == 0) return;  // the same bits are as right as before
    if (!check(output_, last_, record)) record.reason += " (in a second call on other inputs)";
  }

  void memory(Memory& memory, std::uint64_t workspace_bytes) const {
    memory.workspace_bytes = static_cast<std::int64_t>(workspace_bytes);
    memory.peak_bytes = static_cast<std::int64_t>(workspace_bytes) + tensors_.output_bytes();
    memory.growth_bytes = watch_.growth_bytes();
    memory.source = "workspace";
  }

  void close() { session_.reset(); }

 private:
  // One call with everything around it that belongs outside its time: poison, cold caches, the memory's books. Returns nanoseconds.
  double call() {
    tensors_.poison_output();
    if (case_.cache == Cache::cold) flush_();
    double elapsed = session_->run(nullptr);
    output_ = written_output();
    if (case_.then == Then::merge_heads) {
      const std::int64_t start = now_ns();
      output_ = merge_heads_(output_, nullptr);
      elapsed += static_cast<double>(now_ns() - start);
    }
    watch_.sample();
    return elapsed;
  }

  TensorView written_output() const {
    try {
      return tensors_.output(owns_output_);
    } catch (const Error& error) {
      throw TrialEnd{Status::failed, std::string("the backend ") + error.what()};
    }
  }

  void check_damage() {
    if (auto damage = session_->damage()) throw TrialEnd{Status::wrong, *damage};
    if (auto damage = tensors_.damage()) throw TrialEnd{Status::wrong, *damage};
  }

  bool check(const TensorView& output, const TensorView& previous, MeasurementRecord& record) {
    CheckInput input;
    input.value = &case_;
    input.operands = {tensors_.q(), tensors_.k(), tensors_.v(), tensors_.mask()};
    input.output = output;
    input.previous = previous;
    input.poison = poison_bits(output.dtype);
    input.seed = request_.seed;
    input.limits.flops = kCheckedFlops;
    const NumericsResult result = check_output(input);
    // Of two checked outputs the worse one counts.
    if (result.status != Status::ok || !record.numerics.max_abs_error || result.numerics.max_abs_error > record.numerics.max_abs_error)
      record.numerics = result.numerics;
    record.status = result.status;
    record.reason = result.reason;
    return result.status == Status::ok;
  }

  Case case_;
  Request request_;
  Tensors tensors_;
  CacheFlush& flush_;
  MergeHeads merge_heads_;
  std::optional<BackendSession> session_;
  MemoryWatch watch_;
  Block block_;
  TensorView output_, last_;
  GuardedBuffer last_storage_;
  bool control_, reports_, owns_output_;
};

// What the trial takes must fit the machine (unsupported), and what is free of it now (cannot_measure).
void check_memory(const Case& value, std::uint64_t workspace_bytes, const attn_device_facts& device) {
  constexpr double kMiB = 1 << 20;
  const double needed = Tensors::bytes_needed(value) + static_cast<double>(workspace_bytes);
  const double total = static_cast<double>(device.memory_bytes), available = available_memory_bytes();
  if (needed > kMemoryShare * total)
    throw TrialEnd{Status::unsupported, fmt::format("needs {:.0f} MiB of memory; this machine has {:.0f} MiB", needed / kMiB, total / kMiB)};
  if (needed > available)
    throw TrialEnd{Status::cannot_measure, fmt::format("needs {:.0f} MiB of memory, and {:.0f} MiB of {:.0f} MiB are free now", needed / kMiB, available / kMiB, total / kMiB)};
}

}  // namespace

MeasurementRecord run_trial(const attn_backend_list& backends, const Request& request, const Environment& environment, CacheFlush& flush, RecordWriter& write) {
  MeasurementRecord record;
  record.trial = request.trial;
  std::optional<OpenTrial> trial;
  try {
    const Case value = parse_case_id(request.case_id);
    const attn_problem problem = make_problem(value, request.case_id, request.seed);
    const attn_device_facts device = host_device_facts(environment);
    const attn_backend* backend = nullptr;
    try {
      backend = &find_backend(backends, request.backend);
    } catch (const Error& error) {
      throw TrialEnd{Status::unsupported, error.what()};
    }
    // The parent says what a control row is: a flag of the code under test switches no check off.
    if (request.control != static_cast<bool>(backend->flags & ATTN_FLAG_CONTROL))
      throw TrialEnd{Status::unsupported, fmt::format("{} is {} control backend: fixed work that is no attention", request.backend, request.control ? "no" : "a")};
    if (const std::uint64_t missing = problem.needs & ~backend->can; missing && !request.control)
      throw TrialEnd{Status::unsupported, fmt::format("{} cannot do: {}", request.backend, words_of_bits(missing))};

    write(StartedRecord{request.trial, Phase::open});
    const std::uint64_t workspace_bytes = ask_supports(*backend, problem, device);
    check_memory(value, workspace_bytes, device);
    record.memory.workspace_bytes = static_cast<std::int64_t>(workspace_bytes);
    if (request.supports_only) return record;
    trial.emplace(*backend, value, problem, device, request, flush, workspace_bytes);

    write(StartedRecord{request.trial, Phase::bare});
    trial->bare();
    if (request.timing) write(BlockRecord{request.trial, trial->block()});
    if (request.accounting) {
      write(StartedRecord{request.trial, Phase::accounting});
      trial->account(record);
    }
    trial->memory(record.memory, workspace_bytes);
    if (request.numerics) {
      write(StartedRecord{request.trial, Phase::numerics});
      trial->check_numerics(record);
    }
    trial->close();  // inside the trial: a crash here belongs to it
  } catch (const TrialEnd& end) {
    record.status = end.status;
    record.reason = end.reason;
  } catch (const Error& error) {
    record.status = error.fault() == Fault::internal ? Status::failed : Status::cannot_measure;
    record.reason = error.what();
  } catch (const std::exception& error) {
    record.status = Status::failed;
    record.reason = error.what();
  }
  return record;
}

}  // namespace attn
