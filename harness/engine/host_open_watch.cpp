#include "engine/host_open_watch.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdio>

namespace attn {
namespace {

struct Resident {
  long long most_kib = 0, of_files_kib = 0;  // since the last reset; pages of files and libraries, which are read in as they are first touched
};

Resident resident() {
  Resident now;
  if (std::FILE* file = std::fopen("/proc/self/status", "r")) {
    for (char line[256]; std::fgets(line, sizeof line, file);) {
      std::sscanf(line, "VmHWM: %lld", &now.most_kib);
      std::sscanf(line, "RssFile: %lld", &now.of_files_kib);
    }
    std::fclose(file);
  }
  return now;
}

// proc_pid_clear_refs(5): 5 sets the high water to what is resident now. Not every container lets a process write there.
bool reset_high_water() {
  std::FILE* file = std::fopen("/proc/self/clear_refs", "w");
  if (!file) return false;
  const bool written = std::fputs("5", file) >= 0;
  return (std::fclose(file) == 0) && written;
}

}  // namespace

// What an earlier case gave back to malloc is resident still, and would be taken again unseen.
HostOpenWatch::HostOpenWatch() {
  malloc_trim(0);
  resets_ = reset_high_water();
  const Resident now = resident();
  resident_ = now.most_kib;
  of_files_ = now.of_files_kib;
}

OpenPeak HostOpenWatch::peak() {
  const Resident now = resident();
  if (!resets_ || resident_ == 0) return {};
  return {std::max(0ll, now.most_kib - resident_ - std::max(0ll, now.of_files_kib - of_files_)) * 1024, "resident"};
}

}  // namespace attn
