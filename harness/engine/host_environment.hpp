#pragma once
// What this machine is, for a CPU device.

#include "abi/attn_abi.h"
#include "core/environment.hpp"

namespace attn {

// Model, threads that this process may use, caches, memory, and the switches in the environment that change what libraries do.
Environment host_environment();
attn_device_facts host_device_facts(const Environment& environment);
// Memory that can be had without swapping, in bytes.
double available_memory_bytes();

}  // namespace attn
