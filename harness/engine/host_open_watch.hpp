#pragma once
// The kernel's own high water of this process's resident memory: it sees whoever takes memory, C, Python or a library, to some pages.

#include "engine/open_watch.hpp"

namespace attn {

class HostOpenWatch final : public OpenWatch {
 public:
  HostOpenWatch();
  OpenPeak peak() override;  // "resident"

 private:
  bool resets_ = false;
  std::int64_t resident_ = 0, of_files_ = 0;
};

}  // namespace attn
