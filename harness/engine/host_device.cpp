#include "engine/host_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "engine/host_environment.hpp"
#include "engine/host_meter.hpp"
#include "engine/host_open_watch.hpp"
#include "engine/inputs.hpp"

namespace attn {

HostDevice::HostDevice() : environment_(host_environment()), flush_(environment_.cache_bytes) {}

attn_device_facts HostDevice::facts() const { return host_device_facts(environment_); }
double HostDevice::free_bytes() const { return available_memory_bytes(); }

std::byte* HostDevice::allocate(std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, std::max(bytes, std::size_t{1}) + (kAlignment - bytes % kAlignment) % kAlignment));
  if (!memory) throw OutOfMemory(fmt::format("no memory: {} bytes", bytes));
  return memory;
}
void HostDevice::release(std::byte* memory) noexcept { std::free(memory); }

void HostDevice::set(std::byte* at, std::uint8_t value, std::size_t bytes) { std::memset(at, value, bytes); }

void HostDevice::fill(std::byte* at, std::uint32_t bits, std::size_t element_bytes, std::size_t count) {
  if (element_bytes == 4) std::fill_n(reinterpret_cast<std::uint32_t*>(at), count, bits);
  else if (element_bytes == 2) std::fill_n(reinterpret_cast<std::uint16_t*>(at), count, static_cast<std::uint16_t>(bits));
  else std::fill_n(reinterpret_cast<std::uint8_t*>(at), count, static_cast<std::uint8_t>(bits));
}

void HostDevice::write(std::byte* at, const void* from, std::size_t bytes) { std::memcpy(at, from, bytes); }
void HostDevice::read(void* to, const std::byte* at, std::size_t bytes) { std::memcpy(to, at, bytes); }

std::uint64_t HostDevice::fingerprint(const std::byte* at, std::size_t bytes) {
  std::uint64_t hash = 0x9e3779b97f4a7c15ull;
  const std::size_t words = bytes / 8;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word;
    std::memcpy(&word, at + 8 * i, 8);
    hash = (hash ^ word) * 0x9fb21c651e98df25ull;
    hash ^= hash >> 32;
  }
  for (std::size_t i = 8 * words; i < bytes; ++i) hash = (hash ^ static_cast<std::uint64_t>(at[i])) * 0x9fb21c651e98df25ull;
  return hash;
}

void HostDevice::fill_inputs(const Case& value, std::uint64_t seed, const TensorView& q, const TensorView& k, const TensorView& v) {
  attn::fill_inputs(value, seed, q, k, v);
}
void HostDevice::fill_mask(const Case& value, std::uint64_t seed, const TensorView& mask) { attn::fill_mask(value, seed, mask); }
void HostDevice::fill_gradient(const Case& value, std::uint64_t seed, const TensorView& dout) { attn::fill_gradient(value, seed, dout); }

void HostDevice::copy_dense(const TensorView& source, std::byte* to) {
  const auto [batch, heads, seq, dim] = source.shape;
  const std::size_t size = element_bytes(source.dtype);
  const auto* const from = static_cast<const std::byte*>(source.data);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t s = 0; s < seq; ++s)
      for (std::int64_t h = 0; h < heads; ++h, to += static_cast<std::size_t>(dim) * size) {
        if (!source.has_row(b, s)) {
          std::memset(to, 0, static_cast<std::size_t>(dim) * size);
          continue;
        }
        const std::byte* row = from + static_cast<std::size_t>(source.offset(b, h, s, 0)) * size;
        if (source.strides[3] == 1) std::memcpy(to, row, static_cast<std::size_t>(dim) * size);
        else
          for (std::int64_t d = 0; d < dim; ++d)
            std::memcpy(to + static_cast<std::size_t>(d) * size, row + static_cast<std::size_t>(d * source.strides[3]) * size, size);
      }
}

std::unique_ptr<Reference> HostDevice::reference(const Operands& operands) { return std::make_unique<HostReference>(operands); }
std::unique_ptr<Meter> HostDevice::meter(Calls& calls) { return std::make_unique<HostMeter>(calls); }
std::unique_ptr<OpenWatch> HostDevice::watch_open() { return std::make_unique<HostOpenWatch>(); }

}  // namespace attn
