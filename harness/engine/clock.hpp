#pragma once
// The one clock of the engine.

#include <chrono>
#include <cstdint>

namespace attn {

// Nanoseconds of the steady clock.
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace attn
