#pragma once
// Device memory that was taken while somebody listened, by CUPTI's records in the order of their times.

#include <algorithm>
#include <map>
#include <optional>

#include "gpu/recording.hpp"

namespace attn {

class TakenMemory {
 public:
  // How many bytes more are held by it; negative: fewer. What was there before is nobody's, and neither is giving it back.
  std::int64_t change(const MemoryRecord& record) {
    if (record.allocates) return bytes_at_[record.address] = record.bytes;
    const auto block = bytes_at_.find(record.address);
    if (block == bytes_at_.end()) return 0;
    const std::int64_t bytes = block->second;
    bytes_at_.erase(block);
    return -bytes;
  }

 private:
  std::map<std::int64_t, std::int64_t> bytes_at_;
};

// The most that was held at once; nothing when the recording is not whole.
inline std::optional<std::int64_t> peak_taken_bytes(const Recording& recording) {
  if (recording.dropped != 0 || !recording.faults.empty()) return std::nullopt;
  TakenMemory taken;
  std::int64_t held = 0, peak = 0;
  for (const MemoryRecord& record : recording.memory) peak = std::max(peak, held += taken.change(record));
  return peak;
}

}  // namespace attn
