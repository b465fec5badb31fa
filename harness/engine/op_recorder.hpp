#pragma once
// Listens to a backend that reports its operations and keeps them as activities, call by call.

#include <optional>
#include <string>

#include "abi/attn_abi.h"
#include "core/activity.hpp"

namespace attn {

class OpRecorder {
 public:
  // What a backend may report of one call; more is a fault, not a flood.
  static constexpr std::size_t kMostOps = 100'000;

  OpRecorder();
  OpRecorder(const OpRecorder&) = delete;
  OpRecorder& operator=(const OpRecorder&) = delete;

  const attn_ops* abi() const { return &abi_; }
  // The operations since the last take. Throws Error when the reports make no sense (an end without a begin, nesting, a kind that is none).
  CallActivities take();
  // Records an operation of the harness itself (`then:`).
  void begin(std::int32_t kind, const char* name, std::uint64_t bytes);
  void end();

 private:
  CallActivities activities_;
  std::string fault_;
  bool open_ = false;
  attn_ops abi_;
};

}  // namespace attn
