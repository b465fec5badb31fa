#pragma once
// Makes the next call find cold caches: reads (never writes) twice the last-level cache, so that no dirty lines are left to be written back inside the call.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attn {

class CacheFlush {
 public:
  explicit CacheFlush(std::int64_t cache_bytes) : words_(static_cast<std::size_t>(2 * cache_bytes) / sizeof(std::uint64_t)) {}
  // The first flush takes the memory and touches it; a worker keeps one object for all its trials.
  void operator()() {
    if (lines_.empty()) lines_.assign(words_, 1);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < lines_.size(); i += 8) sum += lines_[i];  // one word of each 64-byte line
    sink_ = sum;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> lines_;
  volatile std::uint64_t sink_ = 0;
};

}  // namespace attn
