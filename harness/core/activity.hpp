#pragma once
// What the device did: one record per kernel, memcpy and memset, raw as the instrument saw it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/words.hpp"

namespace attn {

struct Activity {
  ActivityKind kind = ActivityKind::kernel;
  std::string name;                   // as recorded; hostile text
  std::optional<std::int64_t> bytes;  // of a memcpy or memset; a kernel record carries none
  std::int64_t start_ns = 0, end_ns = 0;

  static void fields(auto& self, auto&& visit) {
    visit("kind", self.kind);
    visit("name", self.name);
    visit("bytes", self.bytes);
    visit("start_ns", self.start_ns);
    visit("end_ns", self.end_ns);
  }
};

// The activities of one call, in the order of their start.
using CallActivities = std::vector<Activity>;

}  // namespace attn
