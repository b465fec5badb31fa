#pragma once
// Recordings made up in tests: calls on a time line, with the harness's own work around them.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/call_windows.hpp"

namespace attn::test {

// Each call has a span of 100,000 ns, `base`: first marker at 10,000 to 11,000, window from 20,000 to 40,000, second marker from 60,000 to 61,000.
class Stream {
 public:
  static constexpr std::int64_t kHarness = 1;  // its thread

  explicit Stream(std::size_t calls);

  std::int64_t base(std::size_t call) const { return 1'000'000 + 100'000 * static_cast<std::int64_t>(call); }

  // Work of `call`: launched at `host` behind its base by `thread`, running from `start` to `end` behind its base. Returns the correlation id.
  std::int64_t kernel(std::size_t call, const std::string& name, std::int64_t host, std::int64_t start, std::int64_t end, std::int64_t thread = kHarness);
  std::int64_t memcpy(std::size_t call, std::int64_t bytes, std::int64_t host, std::int64_t start, std::int64_t end);
  // An API call alone. Returns its correlation id.
  std::int64_t api(std::size_t call, const std::string& name, std::int64_t host, std::int64_t ns = 100, std::int64_t thread = kHarness);
  // Work alone.
  DeviceRecord& device(std::size_t call, const std::string& name, std::int64_t start, std::int64_t end, std::int64_t correlation, ActivityKind kind = ActivityKind::kernel);
  void memory(std::size_t call, bool allocates, std::int64_t address, std::int64_t bytes, std::int64_t host);

  std::vector<RecordedCall> calls(bool with_api = true) const { return recorded_calls(recording, windows, with_api); }
  // What the error says; "no error" without one.
  std::string error(bool with_api = true) const;

  Recording recording;
  std::vector<CallWindow> windows;

 private:
  std::int64_t next_ = 0;
};

}  // namespace attn::test
