#pragma once
// What an allocator inside the worker's host said of itself last: attn_note_memory.

#include <cstdint>
#include <optional>

namespace attn {

struct NotedMemory {
  std::int64_t held_bytes = 0;  // when it said so
  std::int64_t peak_bytes = 0;  // the most since it had said so before
};

// Nothing where nobody says anything.
inline std::optional<NotedMemory>& noted_memory() {
  static std::optional<NotedMemory> noted;
  return noted;
}

}  // namespace attn
