#include "run/device_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <utility>

namespace attn {
namespace {

// The uuid comes from the driver; only letters, digits and '-' belong into a file's name.
std::string file_of(const std::string& uuid) {
  std::string name = "attn-regress-";
  for (const char c : uuid) name += (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? c : '-';
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  return ((error ? std::filesystem::path("/tmp") : folder) / (name + ".lock")).string();
}

}  // namespace

DeviceLock::DeviceLock(const std::string& device_uuid, const std::atomic<bool>& interrupted) {
  // Open for every user: the lock is the kernel's, the file holds nothing. Never through a link that somebody else put there.
  descriptor_ = open(file_of(device_uuid).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) descriptor_ = open(file_of(device_uuid).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor_ < 0) return;
  fchmod(descriptor_, 0666);
  bool told = false;
  while (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && !interrupted) {
    if (!std::exchange(told, true)) std::fputs("attn-regress: another run measures on this GPU; waiting until it is done\n", stderr);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

DeviceLock::~DeviceLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace attn
