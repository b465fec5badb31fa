#pragma once
// CUPTI's buffers to plain values.

#include <cstddef>
#include <cstdint>

#include "gpu/cupti_library.hpp"
#include "gpu/recording.hpp"

namespace attn {

// Appends what lies in the first `size` bytes of `buffer`. What cannot be read, and records of kinds that were never asked for, become faults.
void read_records(const CuptiLibrary& cupti, std::uint8_t* buffer, std::size_t size, Recording& into);

// "cudaMemcpyAsync" of "cudaMemcpyAsync_ptsz_v7000", "cuMemAlloc" of "cuMemAlloc_v2": one name for every variant of a call.
std::string plain_call_name(const std::string& name);

}  // namespace attn
