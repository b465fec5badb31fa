#include "engine/guarded_buffer.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace attn {
namespace {

constexpr int kPattern = 0xA7;

// Bytes of [zone, zone + size) that differ from the pattern, and the place of the first.
std::pair<std::size_t, std::size_t> changed(const std::byte* zone, std::size_t size) {
  std::size_t count = 0, first = size;
  for (std::size_t i = 0; i < size; ++i)
    if (zone[i] != std::byte{kPattern}) {
      first = std::min(first, i);
      ++count;
    }
  return {count, first};
}

}  // namespace

GuardedBuffer::GuardedBuffer(std::string name, std::size_t bytes) : name_(std::move(name)), bytes_(bytes) {
  const std::size_t whole = (bytes + 2 * kGuardBytes + kAlignment - 1) / kAlignment * kAlignment;
  base_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, whole));
  if (!base_) throw Error(fmt::format("no memory for {}: {} bytes", name_, bytes), Fault::internal);
  std::memset(base_, kPattern, kGuardBytes);
  std::memset(data() + bytes_, kPattern, kGuardBytes);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : name_(std::move(other.name_)), base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

GuardedBuffer::~GuardedBuffer() { std::free(base_); }

std::optional<std::string> GuardedBuffer::damage() {
  if (!base_) return std::nullopt;
  std::byte* const after = data() + bytes_;
  const auto [before_count, before_first] = changed(base_, kGuardBytes);
  const auto [after_count, after_first] = changed(after, kGuardBytes);
  std::memset(base_, kPattern, kGuardBytes);
  std::memset(after, kPattern, kGuardBytes);
  if (after_count) return fmt::format("wrote {} bytes after the end of {} (first at +{})", after_count, name_, after_first);
  if (before_count) return fmt::format("wrote {} bytes before the start of {} (first at -{})", before_count, name_, kGuardBytes - before_first);
  return std::nullopt;
}

}  // namespace attn
