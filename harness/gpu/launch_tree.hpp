#pragma once
// API calls within one another. A call of the runtime makes calls of the driver: CUPTI 13.0 leaves those out of its records, which nobody promised.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "gpu/recording.hpp"

namespace attn {

// What a call puts on the device, if it succeeds.
enum class Launches { nothing, kernel, graph, memory };
Launches launches(const ApiRecord& call);

class LaunchTree {
 public:
  // A call with everything that it made on its thread.
  struct Root {
    std::size_t call = 0;                    // index in the recording
    std::set<std::int64_t> correlations;     // of it and of all within it
    Launches launches = Launches::nothing;   // the strongest of all within it that succeeded: kernel, then graph, then memory
    std::optional<std::int64_t> bytes;       // that it moved, as far as known
      bool capturing = false;                  // made while its thread captured a stream
    bool left_open = false;                  // began a capture that its thread never ended
  };

  explicit LaunchTree(const std::vector<ApiRecord>& calls);

  const std::vector<Root>& roots() const { return roots_; }  // in the order of their start
  // The outermost call with the correlation id; null when there is none.
  const Root* find(std::int64_t correlation) const;

 private:
  std::vector<Root> roots_;
  std::unordered_map<std::int64_t, std::size_t> by_correlation_;
};

}  // namespace attn
