#pragma once
// How calls are measured on one kind of device: the phases of DESIGN section 2 but for the numerics.

#include "core/records.hpp"
#include "engine/calls.hpp"

namespace attn {

class Meter {
 public:
  virtual ~Meter() = default;
  // First, second and timed calls; nothing listens. Fills first_ns, second_ns and, where the request asks for times, host_ns and span_ns.
  virtual void bare(const Request& request, Block& block) = 0;
  // Fills device_ns, with its instrument, calls and drift.
  virtual void device_time(const Request& request, Block& block) = 0;
  // Fills record.calls, counted and capturable. Throws TrialEnd{cannot_measure} when the records cannot be had or believed.
  virtual void account(const Request& request, MeasurementRecord& record) = 0;
  // Adds to `memory` what the calls so far took themselves, above workspace and outputs.
  virtual void add_memory(Memory& memory) const = 0;
};

}  // namespace attn
