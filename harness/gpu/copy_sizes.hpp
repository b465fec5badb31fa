#pragma once
// How much the calls of a memcpy or memset were asked to move: a call's record has no arguments, and one that moves nothing rightly leaves no device record.

#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpu/cupti_library.hpp"

namespace attn {

class CopySizes {
 public:
  explicit CopySizes(const CuptiLibrary& cupti) : cupti_(cupti) {}

  // What the subscriber has to call, with `this` as its user data.
  static void CUPTIAPI callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId call, const void* data);

  // Throws Error.
  void watch(CUpti_SubscriberHandle subscriber, bool on);
  // Bytes by correlation id, of the calls since the last take.
  std::unordered_map<std::int64_t, std::int64_t> take();

 private:
  struct Watched {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId call;
    std::int64_t element_bytes;
  };

  const CuptiLibrary& cupti_;
  std::vector<Watched> watched_;
  std::mutex mutex_;
  std::unordered_map<std::int64_t, std::int64_t> bytes_;
};

// Bytes of one element of what the call counts in its third parameter; empty for a call that does not say its size so. By CUPTI's name of the call.
std::optional<std::int64_t> counted_element_bytes(std::string_view callback_name);

}  // namespace attn
