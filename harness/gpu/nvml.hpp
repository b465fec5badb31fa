#pragma once
// NVML, opened at run time: what the card is and how it is doing. Everything is optional: a card without NVML is measured all the same.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/shared_library.hpp"

namespace attn {

struct ClockState {
  std::optional<double> sm_mhz, memory_mhz, power_w, temperature_c;
  std::vector<std::string> throttle_reasons;  // "power cap", "thermal (hardware)", ...; what slows the card, idleness left out
};

class Nvml {
 public:
  // By PCI bus id ("00000000:1b:00.0"), which CUDA and NVML agree on whatever CUDA_VISIBLE_DEVICES says. Throws Error when there is no NVML or no such card.
  explicit Nvml(const std::string& pci_bus_id, const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;                  // empty when unknown, as below
  std::optional<double> power_limit_w() const;         // enforced
  std::string uuid() const;                            // of the whole card, also in a MIG slice
  bool mig() const;                                    // the card is divided into slices
  ClockState clocks() const;
  // Process ids that compute on the card; as the driver numbers them, which in a container may differ from ours. Empty optional: it does not say.
  std::optional<std::vector<std::int64_t>> computing_processes() const;

 private:
  SharedLibrary library_;
  void* device_ = nullptr;
};

}  // namespace attn
