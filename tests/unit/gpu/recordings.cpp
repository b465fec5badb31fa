#include "recordings.hpp"

#include "base/error.hpp"

namespace attn::test {

Stream::Stream(std::size_t calls) {
  recording.dropped = 0;
  for (std::size_t call = 0; call < calls; ++call) {
    kernel(call, "attn_harness_fill", 1000, 3000, 4000);
    kernel(call, kMarkerKernel, 5000, 10'000, 11'000);
    recording.device.back().grid_x = 2 * static_cast<std::int64_t>(call) + 1;
    api(call, "cudaDeviceSynchronize", 6000, 6000);
    windows.push_back({base(call) + 20'000, base(call) + 40'000});
    kernel(call, kMarkerKernel, 41'000, 60'000, 61'000);
    recording.device.back().grid_x = 2 * static_cast<std::int64_t>(call) + 2;
    api(call, "cudaDeviceSynchronize", 42'000, 30'000);
  }
}

std::int64_t Stream::kernel(std::size_t call, const std::string& name, std::int64_t host, std::int64_t start, std::int64_t end, std::int64_t thread) {
  // The driver's call within the runtime's, as CUPTI records it.
  const std::int64_t correlation = api(call, "cudaLaunchKernel", host, 200, thread);
  api(call, "cuLaunchKernel", host + 50, 100, thread);
  device(call, name, start, end, correlation);
  return correlation;
}

std::int64_t Stream::memcpy(std::size_t call, std::int64_t bytes, std::int64_t host, std::int64_t start, std::int64_t end) {
  const std::int64_t correlation = api(call, "cudaMemcpyAsync", host);
  recording.api.back().bytes = bytes;
  device(call, "Memcpy DtoD", start, end, correlation, ActivityKind::memcpy).bytes = bytes;
  return correlation;
}

std::int64_t Stream::api(std::size_t call, const std::string& name, std::int64_t host, std::int64_t ns, std::int64_t thread) {
  recording.api.push_back({.name = name, .start_ns = base(call) + host, .end_ns = base(call) + host + ns, .correlation = ++next_, .thread = thread, .result = 0, .bytes = {}});
  return next_;
}

DeviceRecord& Stream::device(std::size_t call, const std::string& name, std::int64_t start, std::int64_t end, std::int64_t correlation, ActivityKind kind) {
  DeviceRecord& record = recording.device.emplace_back();
  record.kind = kind;
  record.name = name;
  record.start_ns = base(call) + start;
  record.end_ns = base(call) + end;
  record.correlation = correlation;
  return record;
}

void Stream::memory(std::size_t call, bool allocates, std::int64_t address, std::int64_t bytes, std::int64_t host) {
  recording.memory.push_back({allocates, address, bytes, base(call) + host});
}

std::string Stream::error(bool with_api) const {
  try {
    calls(with_api);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace attn::test
