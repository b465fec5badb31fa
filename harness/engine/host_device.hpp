#pragma once
// The host as a device: a call does its work before it returns.

#include "engine/cache_flush.hpp"
#include "engine/device.hpp"

namespace attn {

class HostDevice : public Device {
 public:
  HostDevice();

  const Environment& environment() const override { return environment_; }
  attn_device_facts facts() const override;
  DLDevice dl() const override { return {ATTN_DEVICE_CPU, 0}; }
  double free_bytes() const override;
  double usable_share() const override { return 0.8; }
  SampleLimits sample_limits() const override { return {.flops = 1e9}; }
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
  void read_dense(std::byte* to, const TensorView& source) override { copy_dense(source, to); }
  void chill() override { flush_(); }
  void* stream() override { return nullptr; }
  void wait() override {}
  std::optional<std::string> records_fault() override { return "a CPU backend reports its operations itself"; }
  bool lost() const override { return false; }
  std::unique_ptr<Reference> reference(const Operands& operands) override;
  std::unique_ptr<Meter> meter(Calls& calls) override;
  void listen() override {}
  std::unique_ptr<OpenWatch> watch_open() override;

 private:
  Environment environment_;
  CacheFlush flush_;
};

}  // namespace attn
