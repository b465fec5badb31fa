#pragma once
// The call of one trial that is made over and over, with all around it that is not the call: poison before it, cold caches, `then:` behind it.

#include <optional>

#include "engine/backend_session.hpp"
#include "engine/merge_heads.hpp"
#include "engine/tensors.hpp"

namespace attn {

class Calls {
 public:
  // Opens the backend. Throws TrialEnd.
  Calls(Device& device, const attn_backend& backend, const Case& value, const attn_problem& problem, const std::map<std::string, std::string>& options,
        std::uint64_t seed, std::uint64_t workspace_bytes);

  // Bytes that the tensors, the workspace and `then:` take of the device; what a backend with ATTN_FLAG_OWNS_OUTPUT does to o is not known before a call.
  static double bytes_needed(const Case& value, std::uint64_t workspace_bytes);

  double open_ns() const { return session_.open_ns(); }
  const OpenPeak& open_peak() const { return session_.open_peak(); }
  bool reports_ops() const { return reports_ops_; }

  // A backward pass alone needs what the forward pass of the same inputs left behind: to be called once before the first `prepare`. Does nothing for another
  // pass. It is a call of the backend's and no part of `open`, whose deadline is longer. Throws TrialEnd.
  void run_forward_first();

  // Poisons the output and, where the case asks for it, chills the caches. On a GPU this is enqueued.
  void prepare();
  // The call and `then:`; on a GPU enqueued. Returns the host's time for it in nanoseconds. `recorder`: who listens to a backend that reports; null = nobody.
  // Throws TrialEnd.
  double make(OpRecorder* recorder);
  // What was written that must not be. The device must be drained. Throws TrialEnd.
  void check_damage();

  // Other inputs from here on, and their forward pass.
  void fill(std::uint64_t seed);
  // The last call's output, after `then:`; a view of device memory.
  const TensorView& output() const { return output_; }
  // What a backward pass wrote; empty views without one.
  const Tensors& tensors() const { return tensors_; }
  Operands operands() const { return {tensors_.q(), tensors_.k(), tensors_.v(), tensors_.mask()}; }
  std::int64_t output_bytes() const { return tensors_.output_bytes(); }

 private:
  Device& device_;
  Case case_;
  Tensors tensors_;
  MergeHeads merge_heads_;
  BackendSession session_;
  TensorView output_;
  bool reports_ops_;
};

}  // namespace attn
