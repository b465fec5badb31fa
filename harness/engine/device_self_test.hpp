#pragma once
// Does a device tell the truth? The engine's own checks, for `attn-regress doctor`.

#include <optional>
#include <string>

#include "engine/device.hpp"

namespace attn {

// What is wrong with a device's inputs (they must be the host's, bit for bit) and its reference (it must agree with the host's); nothing when all is well.
std::optional<std::string> device_self_test(Device& device);

}  // namespace attn
