#include "run/device_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

namespace attn {
namespace {

// The same folder for every user and job, whatever TMPDIR says. The uuid comes from the driver; only letters, digits and '-' belong into a file's name.
std::string file_of(const std::string& uuid) {
  const std::string folder = access("/run/lock", W_OK) == 0 ? "/run/lock" : "/tmp";
  std::string name = folder + "/attn-regress-";
  for (const char c : uuid) name += (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? c : '-';
  return name + ".lock";
}

// The lock is the kernel's, the file holds nothing: everybody may open it. Somebody else may have put anything in its place: a link, a pipe.
int open_lock(const std::string& file) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | kFlags, 0666);
  if (descriptor >= 0) {
    fchmod(descriptor, 0666);  // past the umask; the file is ours and new
    return descriptor;
  }
  descriptor = open(file.c_str(), O_RDONLY | kFlags);
  struct stat status {};
  if (descriptor >= 0 && (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1)) {
    close(descriptor);
    errno = EINVAL;
    return -1;
  }
  return descriptor;
}

}  // namespace

DeviceLock::DeviceLock(const std::string& device_uuid, const std::atomic<bool>& interrupted) {
  const std::string file = file_of(device_uuid);
  descriptor_ = open_lock(file);
  bool told = false;
  while (descriptor_ >= 0 && flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && !interrupted) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      close(std::exchange(descriptor_, -1));
      break;
    }
    if (!std::exchange(told, true)) std::fputs("attn-regress: another run measures on this GPU; waiting until it is done\n", stderr);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  if (descriptor_ < 0 && !interrupted)
    std::fprintf(stderr, "attn-regress: no lock for this GPU (%s: %s): two runs at once would measure each other\n", file.c_str(), std::strerror(errno));
}

DeviceLock::~DeviceLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace attn
