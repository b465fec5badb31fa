#include "engine/gpu_device.hpp"

#include "engine/backend_session.hpp"
#include "engine/gpu_meter.hpp"
#include "engine/gpu_open_watch.hpp"
#include "engine/gpu_operands.hpp"
#include "engine/host_environment.hpp"

namespace attn {
namespace {

Environment describe(int ordinal) {
  check_cuda(cudaSetDevice(ordinal), fmt::format("choosing GPU {}", ordinal));
  Environment environment = host_environment();
  describe_gpu(ordinal, environment);
  return environment;
}

std::optional<Nvml> open_nvml(int ordinal) {
  try {
    return std::optional<Nvml>(std::in_place, gpu_pci_bus_id(ordinal));
  } catch (const Error&) {
    return std::nullopt;  // a card without NVML is measured all the same; the doctor says that it is missing
  }
}

}  // namespace

GpuDevice::GpuDevice(int ordinal)
    : ordinal_(ordinal), environment_(describe(ordinal)), facts_(gpu_device_facts(ordinal)), stream_(make_stream()),
      flush_(2 * static_cast<std::size_t>(environment_.cache_bytes)), nvml_(open_nvml(ordinal)) {}

template <class Body>
auto GpuDevice::guarded(Body&& body) {
  try {
    return body();
  } catch (const CudaError& error) {
    if (error.sticky()) lost_ = true;
    if (error.code() == cudaErrorMemoryAllocation) throw OutOfMemory(error.what());
    throw;
  }
}

double GpuDevice::free_bytes() const {
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "asking for free memory");
  return static_cast<double>(free);
}

std::byte* GpuDevice::allocate(std::size_t bytes) {
  return guarded([&] { return static_cast<std::byte*>(allocate_device(bytes).release()); });
}
void GpuDevice::release(std::byte* memory) noexcept { cudaFree(memory); }

void GpuDevice::set(std::byte* at, std::uint8_t value, std::size_t bytes) { fill(at, value, 1, bytes); }
void GpuDevice::fill(std::byte* at, std::uint32_t bits, std::size_t element_bytes, std::size_t count) {
  guarded([&] { enqueue_fill(stream_.get(), at, bits, element_bytes, count); });
}

void GpuDevice::write(std::byte* at, const void* from, std::size_t bytes) {
  guarded([&] {
    check_cuda(cudaMemcpyAsync(at, from, bytes, cudaMemcpyHostToDevice, stream_.get()), "a copy to the GPU");
    wait();
  });
}
void GpuDevice::read(void* to, const std::byte* at, std::size_t bytes) {
  guarded([&] {
    check_cuda(cudaMemcpyAsync(to, at, bytes, cudaMemcpyDeviceToHost, stream_.get()), "a copy from the GPU");
    wait();
  });
}
std::uint64_t GpuDevice::fingerprint(const std::byte* at, std::size_t bytes) {
  return guarded([&] { return attn::fingerprint(stream_.get(), at, bytes); });
}

void GpuDevice::fill_inputs(const Case& value, std::uint64_t seed, const TensorView& q, const TensorView& k, const TensorView& v) {
  guarded([&] { gpu_fill_inputs(value, seed, q, k, v, stream_.get()); });
}
void GpuDevice::fill_mask(const Case& value, std::uint64_t seed, const TensorView& mask) {
  guarded([&] { gpu_fill_mask(value, seed, mask, stream_.get()); });
}
void GpuDevice::fill_gradient(const Case& value, std::uint64_t seed, const TensorView& dout) {
  guarded([&] { gpu_fill_gradient(value, seed, dout, stream_.get()); });
}
void GpuDevice::copy_dense(const TensorView& source, std::byte* to) {
  guarded([&] { gpu_copy_dense(source, to, stream_.get()); });
}
void GpuDevice::read_dense(std::byte* to, const TensorView& source) {
  const auto [batch, heads, seq, dim] = source.shape;
  const std::size_t bytes = static_cast<std::size_t>(batch * heads * seq * dim) * element_bytes(source.dtype);
  guarded([&] {
    const DeviceMemory dense = allocate_device(bytes);
    gpu_copy_dense(source, dense.get(), stream_.get());
    read(to, static_cast<const std::byte*>(dense.get()), bytes);
  });
}

void GpuDevice::wait() {
  guarded([] { check_cuda(cudaDeviceSynchronize(), "work on the GPU"); });
}

std::unique_ptr<Reference> GpuDevice::reference(const Operands& operands) { return std::make_unique<GpuReference>(operands, stream_.get()); }
std::unique_ptr<Meter> GpuDevice::meter(Calls& calls) { return std::make_unique<GpuMeter>(*this, calls); }
std::unique_ptr<OpenWatch> GpuDevice::watch_open() { return std::make_unique<GpuOpenWatch>(*this, cupti_.get()); }

std::optional<std::string> GpuDevice::records_fault() {
  try {
    cupti();
    return std::nullopt;
  } catch (const TrialEnd& end) {
    return end.reason;
  }
}

Cupti& GpuDevice::cupti() {
  if (!std::exchange(cupti_asked_, true)) {
    try {
      const DeviceMemory scratch = allocate_device(2 * kKnownBytes);
      Cupti::KnownWork work;
      work.kernels = 3;
      work.memcpys = work.memsets = 1;
      work.run = [&] {
        for (std::int64_t i = 0; i < work.kernels; ++i) enqueue_marker(stream_.get(), 1);
        check_cuda(cudaMemcpyAsync(scratch.get(), static_cast<std::byte*>(scratch.get()) + kKnownBytes, kKnownBytes, cudaMemcpyDeviceToDevice, stream_.get()),
                   "proving CUPTI");
        check_cuda(cudaMemsetAsync(scratch.get(), 0, kKnownBytes, stream_.get()), "proving CUPTI");
        wait();
      };
      cupti_ = std::make_unique<Cupti>("", work);
      environment_.libraries["cupti"] = {cupti_->version(), cupti_->path()};
    } catch (const CudaError&) {
      throw;
    } catch (const Error& error) {
      cupti_fault_ = error.what();
    }
  }
  if (!cupti_) throw TrialEnd{Status::cannot_measure, cupti_fault_};
  return *cupti_;
}

}  // namespace attn
