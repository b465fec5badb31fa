#pragma once
// Does a call leave memory behind? Samples what the process holds after each call and judges the trend.

#include <cstdint>
#include <optional>
#include <vector>

namespace attn {

class MemoryWatch {
 public:
  // Room for all samples of a trial: growing in between would be in the books it reads.
  MemoryWatch() {
    malloc_bytes_.reserve(1024);
    resident_bytes_.reserve(1024);
  }
  // To be called between calls, outside every timed window; costs some microseconds.
  void sample();
  // Bytes per call that stay behind for ever; 0 = steady; empty = too few samples to say.
  // malloc's own books are exact: they count when they rise in nearly every call. Resident memory outside malloc (mmap) counts from a page per call.
  std::optional<std::int64_t> growth_bytes() const;

 private:
  std::vector<std::int64_t> malloc_bytes_, resident_bytes_;
};

// The steady growth in `held`, the bytes held after each call: the median step when at least 3/4 of the steps of the later half are positive, else 0.
std::int64_t steady_growth(const std::vector<std::int64_t>& held);

}  // namespace attn
