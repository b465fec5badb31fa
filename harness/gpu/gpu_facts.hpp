#pragma once
// What a GPU is, as far as measurements care.

#include <string>

#include "abi/attn_abi.h"
#include "core/environment.hpp"

namespace attn {

// CUDA devices that this process may use; 0 without a driver. `why` says why there are none ("no NVIDIA driver", "the driver supports CUDA 12.4, this build
// needs 13.0 or newer").
// `expected` tells that there should be some: a driver is there and cannot be used.
int gpu_count(std::string& why, bool* expected = nullptr);

// Fills the device's part of `environment`: device, device_name, arch ("cuda.sm90"), platform ("nvidia-h200.700w", with ".mig-1g.18gb" in a MIG slice),
// memory_bytes, cache_bytes (L2), device_uuid, libraries "driver" and "cuda runtime", switches that begin with CUDA_, NVIDIA_, CUBLAS, CUDNN_. Throws CudaError.
void describe_gpu(int ordinal, Environment& environment);
attn_device_facts gpu_device_facts(int ordinal);
std::string gpu_pci_bus_id(int ordinal);

}  // namespace attn
