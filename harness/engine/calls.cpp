#include "engine/calls.hpp"

#include "base/error.hpp"
#include "engine/clock.hpp"

namespace attn {

Calls::Calls(Device& device, const attn_backend& backend, const Case& value, const attn_problem& problem, const std::map<std::string, std::string>& options,
             std::uint64_t seed, std::uint64_t workspace_bytes)
    : device_(device), case_(value), tensors_(device, value, backend.flags & ATTN_FLAG_OWNS_OUTPUT), merge_heads_(device, value), session_(device, backend, workspace_bytes),
      reports_ops_(backend.flags & ATTN_FLAG_REPORTS_OPS) {
  tensors_.fill(seed);
  tensors_.poison_outputs(Pass::forward_backward);
  device_.wait();
  session_.open(problem, tensors_, options);
  // Its memory is taken here and not inside the first call.
  if (case_.then == Then::merge_heads) merge_heads_(tensors_.o(), nullptr);
}

double Calls::bytes_needed(const Case& value, std::uint64_t workspace_bytes) {
  return Tensors::bytes_needed(value) + MergeHeads::bytes_needed(value) + GuardedBuffer::bytes_needed(static_cast<double>(workspace_bytes));
}

void Calls::fill(std::uint64_t seed) {
  tensors_.fill(seed);
  run_forward_first();
}

void Calls::run_forward_first() {
  if (case_.pass != Pass::backward) return;
  tensors_.poison_outputs(Pass::forward);
  session_.run(nullptr, ATTN_CALL_FORWARD);
  device_.wait();
}

void Calls::prepare() {
  session_.rest();
  tensors_.poison_outputs(case_.pass);
  if (case_.cache == Cache::cold) device_.chill();
}

double Calls::make(OpRecorder* recorder) {
  double elapsed = session_.run(recorder ? recorder->abi() : nullptr, case_.pass == Pass::backward ? ATTN_CALL_BACKWARD : ATTN_CALL_ALL);
  try {
    tensors_.locate_outputs();
  } catch (const Error& error) {
    throw TrialEnd{Status::failed, std::string("the backend ") + error.what()};
  }
  output_ = tensors_.o();
  if (case_.then == Then::merge_heads) {
    const std::int64_t start = now_ns();
    output_ = merge_heads_(output_, recorder);
    elapsed += static_cast<double>(now_ns() - start);
  }
  return elapsed;
}

void Calls::check_damage() {
  if (auto damage = session_.damage()) throw TrialEnd{Status::wrong, *damage};
  if (auto damage = tensors_.damage()) throw TrialEnd{Status::wrong, *damage};
}

}  // namespace attn
