#include "engine/guarded_buffer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"

namespace attn {
namespace {

constexpr std::uint8_t kPattern = 0xA7;
using Zone = std::array<std::byte, GuardedBuffer::kGuardBytes>;

// Bytes of the zone that differ from the pattern, and the place of the first.
std::pair<std::size_t, std::size_t> changed(const Zone& zone) {
  std::size_t count = 0, first = zone.size();
  for (std::size_t i = 0; i < zone.size(); ++i)
    if (zone[i] != std::byte{kPattern}) {
      first = std::min(first, i);
      ++count;
    }
  return {count, first};
}

}  // namespace

GuardedBuffer::GuardedBuffer(Device& device, std::string name, std::size_t bytes) : device_(&device), name_(std::move(name)), bytes_(bytes) {
  try {
    base_ = device.allocate(bytes + 2 * kGuardBytes);
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(fmt::format("no memory for {} ({} bytes): {}", name_, bytes_, error.what()));
  }
  device.set(base_, kPattern, kGuardBytes);
  device.set(data() + bytes_, kPattern, kGuardBytes);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept { *this = std::move(other); }

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(name_, other.name_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

GuardedBuffer::~GuardedBuffer() {
  if (base_) device_->release(base_);
}

std::optional<std::string> GuardedBuffer::damage() {
  if (!base_) return std::nullopt;
  Zone before, after;
  device_->read(before.data(), base_, kGuardBytes);
  device_->read(after.data(), data() + bytes_, kGuardBytes);
  const auto [before_count, before_first] = changed(before);
  const auto [after_count, after_first] = changed(after);
  if (before_count) device_->set(base_, kPattern, kGuardBytes);
  if (after_count) device_->set(data() + bytes_, kPattern, kGuardBytes);
  if (after_count) return fmt::format("wrote {} bytes after the end of {} (first at +{})", after_count, name_, after_first);
  if (before_count) return fmt::format("wrote {} bytes before the start of {} (first at -{})", before_count, name_, kGuardBytes - before_first);
  return std::nullopt;
}

}  // namespace attn
