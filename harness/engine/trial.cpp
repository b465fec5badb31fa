#include "engine/trial.hpp"

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "engine/backend_list.hpp"
#include "engine/calls.hpp"
#include "engine/gradient_check.hpp"
#include "engine/meter.hpp"
#include "engine/noted_memory.hpp"
#include "engine/numerics.hpp"
#include "engine/repeats.hpp"

namespace attn {
namespace {

// The answers of one case on one backend, and whether they are right.
class Answers {
 public:
  Answers(Device& device, const Case& value, const Request& request, Calls& calls, bool writes_lse)
      : device_(device), case_(value), request_(request), calls_(calls), writes_lse_(writes_lse) {}

  // The output of the last timed call is the one to be checked, whatever is called after it.
  void keep_timed() { timed_ = output(); }

  HostCopy next() {
    calls_.prepare();
    calls_.make(nullptr);
    device_.wait();
    calls_.check_damage();
    return output();
  }

  // The last timed output, then two calls on other inputs: a cached answer, a race, or an answer that is right in every other call shows there.
  void check(MeasurementRecord& record) {
    const HostCopy last = timed_ ? std::move(*timed_) : next();
    if (!right(last.view, TensorView{}, record)) return;
    calls_.fill(request_.seed + 1);
    const HostCopy second = next();
    if (!right(second.view, last.view, record)) {
      record.reason += " (in a call on other inputs)";
      return;
    }
    const HostCopy third = next();
    // The same bits are as right as before; gradients are looked at again all the same.
    if ((third.storage != second.storage || case_.pass != Pass::forward) && !right(third.view, last.view, record)) {
      record.reason += " (in a second call on other inputs)";
      return;
    }
    if (const std::string broken = broken_promise(device_, calls_, case_); !broken.empty()) {
      record.status = Status::wrong;
      record.reason = broken;
    }
  }

 private:
  HostCopy output() { return read_dense(device_, calls_.output()); }

  bool right(const TensorView& output, const TensorView& previous, MeasurementRecord& record) {
    const Operands operands = calls_.operands();
    const auto reference = device_.reference(operands);
    HostCopy mask;
    if (operands.mask) mask = read_dense(device_, operands.mask);
    CheckInput input;
    input.value = &case_;
    input.reference = reference.get();
    input.mask = mask.view;
    input.output = output;
    input.previous = previous;
    input.poison = poison_bits(output.dtype);
    input.seed = request_.seed;
    input.limits = device_.sample_limits();
    HostCopy lse;
    if (writes_lse_ && calls_.tensors().lse()) lse = read_dense(device_, calls_.tensors().lse());
    input.lse = lse.view;
    NumericsResult result = check_output(input);
    if (case_.pass != Pass::forward) result = merged(std::move(result), check_gradients(device_, case_, calls_.tensors(), request_.seed));
    // Of two checked outputs the worse one counts.
    if (result.status != Status::ok || !record.numerics.max_abs_error || result.numerics.max_abs_error > record.numerics.max_abs_error)
      record.numerics = result.numerics;
    record.status = result.status;
    record.reason = result.reason;
    return result.status == Status::ok;
  }

  Device& device_;
  const Case& case_;
  const Request& request_;
  Calls& calls_;
  std::optional<HostCopy> timed_;
  bool writes_lse_;
};

// Whether some weight that counts is dropped by one seed and not by another, but for one time in 10^17.
bool seed_shows(const Case& c) {
  if (c.dropout == 0 || may_have_dead_rows(c)) return false;
  double rows = 0;
  for (std::int64_t b = 0; b < c.batch; ++b) rows += static_cast<double>(rows_of(c, b) * c.heads);
  return 2 * c.dropout * (1 - c.dropout) * rows > 40;
}

// What a trial takes must fit the device (unsupported), and what is free of it before (cannot_measure).
class MemoryBudget {
 public:
  MemoryBudget(const Case& value, std::uint64_t workspace_bytes, const Device& device)
      : whose_(device.environment().device == DeviceType::cpu ? "this machine" : "this GPU"), needed_(Calls::bytes_needed(value, workspace_bytes)),
        total_(static_cast<double>(device.facts().memory_bytes)), free_(device.free_bytes()), share_(device.usable_share()) {}

  // Throws TrialEnd.
  void check() const {
    if (needed_ > share_ * total_)
      throw TrialEnd{Status::unsupported, fmt::format("needs {:.0f} MiB of memory; {} has {:.0f} MiB, of which a trial may take {:.0f} % ({:.0f} MiB)",
                                                      needed_ / kMiB, whose_, total_ / kMiB, 100 * share_, share_ * total_ / kMiB)};
    if (needed_ > free_)
      throw TrialEnd{Status::cannot_measure, fmt::format("needs {:.0f} MiB of memory, and {:.0f} MiB of {:.0f} MiB are free now", needed_ / kMiB,
                                                         free_ / kMiB, total_ / kMiB)};
  }

  // The same of a backend that has run out of memory: `wanted_bytes` of its own, 0 = nobody knows. Where less was free than a trial may take, others hold it.
  TrialEnd out_of_memory(double wanted_bytes, const std::string& reason) const {
    if (needed_ + wanted_bytes > share_ * total_ || free_ >= share_ * total_)
      return {Status::unsupported, reason + "; take a smaller case, or a device with more memory"};
    return {Status::cannot_measure, fmt::format("{}; {:.0f} MiB of {:.0f} MiB were free on {} before the case: end what holds the rest", reason, free_ / kMiB,
                                                total_ / kMiB, whose_)};
  }

 private:
  static constexpr double kMiB = 1 << 20;
  const char* whose_;
  double needed_, total_, free_, share_;
};

// The backend that the request names, if it may be asked this. Throws TrialEnd.
const attn_backend& chosen(const attn_backend_list& backends, const Request& request, const attn_problem& problem, const Device& device) {
  const attn_backend* backend = nullptr;
  try {
    backend = &find_backend(backends, request.backend, device.dl().device_type);
  } catch (const Error& error) {
    throw TrialEnd{Status::unsupported, error.what()};
  }
  // The parent says what a control row is: a flag of the code under test switches no check off.
  if (request.control != static_cast<bool>(backend->flags & ATTN_FLAG_CONTROL))
    throw TrialEnd{Status::unsupported, fmt::format("{} is {} control backend: fixed work that is no attention", request.backend, request.control ? "no" : "a")};
  if (const std::uint64_t missing = problem.needs & ~backend->can; missing && !request.control)
    throw TrialEnd{Status::unsupported, refusal(*backend, missing)};
  return *backend;
}

void run_phases(const attn_backend_list& backends, const Request& request, Device& device, RecordWriter& write, MeasurementRecord& record,
                std::optional<MemoryBudget>& memory) {
  const Case value = parse_case_id(request.case_id);
  const attn_problem problem = make_problem(value, request.case_id, request.seed);
  const attn_backend& backend = chosen(backends, request, problem, device);

  const auto start = [&](Phase phase) { write(StartedRecord{request.trial, phase}); };
  start(Phase::open);
  const std::uint64_t workspace_bytes = ask_supports(backend, problem, device.facts());
  memory.emplace(value, workspace_bytes, device).check();
  record.memory.workspace_bytes = static_cast<std::int64_t>(workspace_bytes);
  if (request.supports_only) return;
  if (!request.bare && request.accounting) device.listen();
  std::optional<Calls> calls(std::in_place, device, backend, value, problem, request.options, request.seed, workspace_bytes);
  const std::unique_ptr<Meter> meter = device.meter(*calls);
  if (!(backend.flags & ATTN_FLAG_OWNS_OUTPUT)) {  // else it takes memory of its own, which a meter may see
    record.memory.peak_bytes = static_cast<std::int64_t>(workspace_bytes) + calls->output_bytes();
    record.memory.source = "workspace";
  }

  record.memory.prepare_peak_bytes = calls->open_peak().bytes;
  record.memory.prepare_source = calls->open_peak().source;

  // The first phase that calls anything begins with the forward pass that a backward pass alone needs.
  bool ready = false;
  const auto start_calling = [&](Phase phase) {
    start(phase);
    if (!std::exchange(ready, true)) calls->run_forward_first();
  };
  Block block;
  block.plan_ns = calls->open_ns();
  if (request.bare) {
    start_calling(Phase::bare);
    meter->bare(request, block);
  }
  if (request.device_time) {
    start_calling(Phase::device_time);
    meter->device_time(request, block);
  }
  Answers answers(device, value, request, *calls, backend.can & ATTN_CAN_LSE);
  const bool checked = request.numerics && !request.control;
  if (request.bare || request.device_time) {
    calls->check_damage();
    if (checked) answers.keep_timed();
  }
  if (request.timing) write(BlockRecord{request.trial, block});
  if (request.accounting) {
    start_calling(Phase::accounting);
    meter->account(request, record);
    calls->check_damage();
  }
  meter->add_memory(record.memory);
  if (request.numerics) {
    start_calling(Phase::numerics);
    if (checked) answers.check(record);
    if (checked && record.status == Status::ok && seed_shows(value)) {
      const HostCopy of_seed = answers.next();
      calls.reset();
      attn_problem other = problem;
      ++other.dropout_seed;
      calls.emplace(device, backend, value, other, request.options, request.seed + 1, workspace_bytes);  // the inputs of that call
      calls->run_forward_first();
      if (answers.next().storage == of_seed.storage) {
        record.status = Status::wrong;
        record.reason = "another dropout seed gives the same output";
      }
    }
  }
  calls.reset();  // inside the trial: a crash here belongs to it
  device.wait();
}

}  // namespace

MeasurementRecord run_trial(const attn_backend_list& backends, const Request& request, Device& device, RecordWriter& write) {
  MeasurementRecord record;
  record.trial = request.trial;
  std::optional<MemoryBudget> memory;
  noted_out_of_memory().reset();
  try {
    run_phases(backends, request, device, write, record, memory);
  } catch (const TrialEnd& thrown) {
    const auto& wanted = noted_out_of_memory();
    const bool ran_out = thrown.status == Status::unsupported && wanted && memory;
    const TrialEnd end = ran_out ? memory->out_of_memory(static_cast<double>(*wanted), thrown.reason) : thrown;
    record.status = end.status;
    record.reason = end.reason;
  } catch (const OutOfMemory& error) {
    record.status = Status::cannot_measure;
    record.reason = error.what();
  } catch (const Error& error) {
    record.status = error.fault() == Fault::internal ? Status::failed : Status::cannot_measure;
    record.reason = error.what();
  } catch (const std::exception& error) {
    record.status = Status::failed;
    record.reason = error.what();
  }
  if (record.status != Status::ok) {
    try {
      device.wait();  // a backend that saw the fault itself leaves a device that is lost all the same
    } catch (const Error&) {
    }
  }
  record.worker_ends = device.lost();
  return record;
}

}  // namespace attn
