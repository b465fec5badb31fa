#pragma once
// What the worker's host said of its memory last: attn_note_memory, attn_note_out_of_memory.

#include <cstdint>
#include <optional>

namespace attn {

struct NotedMemory {
  std::int64_t held_bytes = 0;  // when it said so
  std::int64_t peak_bytes = 0;  // the most since it had said so before
  std::optional<std::int64_t> held_before_bytes{};  // when it had said so before; empty: this was the first time
};

// Nothing where nobody says anything, and when a backend is about to be opened.
inline std::optional<NotedMemory>& noted_memory() {
  static std::optional<NotedMemory> noted;
  return noted;
}

// Bytes of its own that a backend wanted when it ran out of memory, 0 = not known. Nothing where none did.
inline std::optional<std::uint64_t>& noted_out_of_memory() {
  static std::optional<std::uint64_t> noted;
  return noted;
}

}  // namespace attn
