#pragma once
// One run at a time per GPU, whoever starts it.

#include <atomic>
#include <string>

namespace attn {

class DeviceLock {
 public:
  // Waits until no other run holds the device; says on standard error that it waits. An interrupt ends the waiting without the lock. A folder that cannot be
  // written leaves the device unlocked: no reason to measure nothing.
  DeviceLock(const std::string& device_uuid, const std::atomic<bool>& interrupted);
  ~DeviceLock();
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace attn
