#pragma once
// One backend opened on one problem: owns its state, its workspace and the call that is made over and over.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "abi/attn_abi.h"
#include "core/words.hpp"
#include "engine/guarded_buffer.hpp"
#include "engine/tensors.hpp"

namespace attn {

// A backend's answer that ends a trial: unsupported, failed.
struct TrialEnd {
  Status status;
  std::string reason;
};

// Asks `supports`. Returns the workspace's bound in bytes. Throws TrialEnd.
std::uint64_t ask_supports(const attn_backend& backend, const attn_problem& problem, const attn_device_facts& device);

class BackendSession {
 public:
  // Allocates the workspace.
  BackendSession(Device& device, const attn_backend& backend, std::uint64_t workspace_bytes);
  ~BackendSession();
  BackendSession(const BackendSession&) = delete;
  BackendSession& operator=(const BackendSession&) = delete;

  // Opens the backend, once. Throws TrialEnd.
  void open(const attn_problem& problem, Tensors& tensors, const std::map<std::string, std::string>& options);
  double open_ns() const { return open_ns_; }
  const OpenPeak& open_peak() const { return open_peak_; }
  // Lets the backend tidy up, outside all clocks.
  void rest();
  // One call, then what the backend does after it; `ops` null = nobody listens. Returns the time in nanoseconds until the call comes back. Throws TrialEnd.
  double run(const attn_ops* ops, attn_call_pass pass = ATTN_CALL_ALL);
  // A write outside the workspace.
  std::optional<std::string> damage() { return workspace_.damage(); }

 private:
  Device& device_;
  const attn_backend& backend_;
  GuardedBuffer workspace_;
  attn_call call_{};
  void* state_ = nullptr;
  double open_ns_ = 0;
  OpenPeak open_peak_;
};

}  // namespace attn
