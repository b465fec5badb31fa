#pragma once
// Device memory with red zones: a pattern before and after the payload that shows a write out of bounds.

#include <cstddef>
#include <optional>
#include <string>

#include "engine/device.hpp"

namespace attn {

class GuardedBuffer {
 public:
  static constexpr std::size_t kGuardBytes = 4096;

  GuardedBuffer() = default;
  // Payload of `bytes`, aligned to 256, uninitialised. `name` appears in messages. Throws Error when the memory is not to be had.
  GuardedBuffer(Device& device, std::string name, std::size_t bytes);
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept;
  ~GuardedBuffer();

  // Bytes that a buffer with a payload of `bytes` takes of the device; neither need fit into 64 bits.
  static double bytes_needed(double bytes) { return bytes + 2 * kGuardBytes; }

  std::byte* data() const { return base_ ? base_ + kGuardBytes : nullptr; }
  std::size_t bytes() const { return bytes_; }
  // "wrote 4 bytes after the end of o (first at +0)", or nothing when both zones are whole. Mends the zones.
  std::optional<std::string> damage();

 private:
  Device* device_ = nullptr;
  std::string name_;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace attn
