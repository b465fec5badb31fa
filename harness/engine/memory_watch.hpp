#pragma once
// Does a call leave memory behind? Samples what the process holds after each call and judges the trend.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace attn {

// What the process holds: by malloc's own books, which are exact, and in resident pages, where memory outside malloc (mmap) shows.
struct HeldMemory {
  std::int64_t malloc_bytes = 0, resident_bytes = 0;
};
HeldMemory memory_of_this_process();

class MemoryWatch {
 public:
  explicit MemoryWatch(std::function<HeldMemory()> read = memory_of_this_process);
  // To be called between calls, outside every timed window; costs some microseconds.
  void sample();
  // Where the samples so far grow: makes as many calls again, with a sample each, so that growth_bytes() sees them alone. An allocator that settles or a free
  // list that fills rises for a while by chance; what is lost in every call goes on.
  void doubt(const std::function<void()>& call_and_sample);
  // Bytes per call that stay behind for ever; 0 = steady; empty = too few samples to say.
  std::optional<std::int64_t> growth_bytes() const;

 private:
  std::function<HeldMemory()> read_;
  std::vector<std::int64_t> malloc_bytes_, resident_bytes_;
};

// The steady growth in `held`, the bytes held after each call: the median step of the later half, when at least 3/4 of these steps rise and so many steps of that
// size come to `floor_bytes` or more; else 0.
std::int64_t steady_growth(const std::vector<std::int64_t>& held, std::int64_t floor_bytes);

}  // namespace attn
