#pragma once
// Measures calls that do their work before they return; counts what a backend reports of itself.

#include "engine/memory_watch.hpp"
#include "engine/meter.hpp"

namespace attn {

class HostMeter final : public Meter {
 public:
  explicit HostMeter(Calls& calls) : calls_(calls) {}
  // Enqueueing a call, its span and its device time are one and the same here: all of them are filled.
  void bare(const Request& request, Block& block) override;
  void device_time(const Request&, Block&) override {}
  void account(const Request& request, MeasurementRecord& record) override;
  void add_memory(Memory& memory) const override { memory.growth_bytes = watch_.growth_bytes(); }

 private:
  double call();

  Calls& calls_;
  MemoryWatch watch_;
};

}  // namespace attn
