#pragma once
// A GPU as a device: everything is enqueued on one stream of the harness.

#include <memory>
#include <optional>
#include <string>

#include "engine/device.hpp"
#include "gpu/cupti.hpp"
#include "gpu/gpu_facts.hpp"
#include "gpu/launch.hpp"
#include "gpu/nvml.hpp"

namespace attn {

class GpuDevice final : public Device {
 public:
  // Makes the card's context. Throws Error.
  explicit GpuDevice(int ordinal);

  const Environment& environment() const override { return environment_; }
  attn_device_facts facts() const override { return facts_; }
  DLDevice dl() const override { return {ATTN_DEVICE_CUDA, ordinal_}; }
  double free_bytes() const override;
  double usable_share() const override { return 0.95; }
  SampleLimits sample_limits() const override { return {.flops = 5e10, .elements = 1 << 20}; }
  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* memory) noexcept override;
  void set(std::byte* at, std::uint8_t value, std::size_t bytes) override;
  void fill(std::byte* at, std::uint32_t bits, std::size_t element_bytes, std::size_t count) override;
  void write(std::byte* at, const void* from, std::size_t bytes) override;
  void read(void* to, const std::byte* at, std::size_t bytes) override;
  std::uint64_t fingerprint(const std::byte* at, std::size_t bytes) override;
  void fill_inputs(const Case& value, std::uint64_t seed, const TensorView& q, const TensorView& k, const TensorView& v) override;
  void fill_mask(const Case& value, std::uint64_t seed, const TensorView& mask) override;
  void fill_gradient(const Case& value, std::uint64_t seed, const TensorView& dout) override;
  void copy_dense(const TensorView& source, std::byte* to) override;
  void read_dense(std::byte* to, const TensorView& source) override;
  void chill() override { flush_.enqueue(stream_.get()); }
  void* stream() override { return stream_.get(); }
  void wait() override;
  std::optional<std::string> records_fault() override;
  bool lost() const override { return lost_; }
  std::unique_ptr<Reference> reference(const Operands& operands) override;
  std::unique_ptr<Meter> meter(Calls& calls) override;
  void listen() override { records_fault(); }
  std::unique_ptr<OpenWatch> watch_open() override;

  cudaStream_t cuda_stream() const { return stream_.get(); }
  // CUPTI, attached when first asked for; from then on host times are not to be believed. Throws TrialEnd{cannot_measure}, every time, when it cannot be.
  Cupti& cupti();
  bool cupti_asked() const { return cupti_asked_; }
  // Null when there is no NVML.
  const Nvml* nvml() const { return nvml_ ? &*nvml_ : nullptr; }

 private:
  // Runs a CUDA call; remembers when the context is lost.
  template <class Body>
  auto guarded(Body&& body);

  static constexpr std::size_t kKnownBytes = 4096;  // of the copy and the memset that prove CUPTI

  int ordinal_;
  Environment environment_;
  attn_device_facts facts_;
  Stream stream_;
  L2Flush flush_;
  std::optional<Nvml> nvml_;
  std::unique_ptr<Cupti> cupti_;
  std::string cupti_fault_;
  bool cupti_asked_ = false, lost_ = false;
};

}  // namespace attn
