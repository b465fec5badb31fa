#pragma once
// What a backend's `open` takes of the device's memory.

#include <cstdint>
#include <optional>
#include <string>

namespace attn {

// Bytes above what was held before, at their most; empty where nobody can tell. `source` says by what.
struct OpenPeak {
  std::optional<std::int64_t> bytes;
  std::string source;
};

// Watches from its making on.
class OpenWatch {
 public:
  OpenWatch() = default;
  virtual ~OpenWatch() = default;
  OpenWatch(const OpenWatch&) = delete;
  OpenWatch& operator=(const OpenWatch&) = delete;
  // To be called once, when `open` went well.
  virtual OpenPeak peak() = 0;
};

}  // namespace attn
