#pragma once
// The harness's own kernels that surround a call. Their names begin with attn_harness_; none of them runs between a call's two markers.

#include <cstddef>
#include <cstdint>

#include "gpu/cuda.hpp"

namespace attn {

// An empty kernel of `blocks` blocks, named kMarkerKernel. Asynchronous, as everything here but where it says otherwise.
void enqueue_marker(cudaStream_t stream, std::int64_t blocks);

// Makes the next kernel find a cold L2: reads (never writes) `bytes` of memory of its own, at least twice the L2's size.
class L2Flush {
 public:
  explicit L2Flush(std::size_t bytes);
  void enqueue(cudaStream_t stream) const;

 private:
  DeviceMemory lines_;
  std::size_t bytes_;
  DeviceMemory sink_;
};

// Holds a stream until the host lets it go, so that what is enqueued meanwhile runs back to back. A kernel that spins on a flag in host memory; it gives up by
// itself after `patience_ns`, because a call that waits for the device inside the hold would never return.
class StreamHold {
 public:
  StreamHold();
  ~StreamHold();                       // lets go
  StreamHold(const StreamHold&) = delete;
  StreamHold& operator=(const StreamHold&) = delete;
  void take(cudaStream_t stream, std::int64_t patience_ns);
  void let_go();
  // After the stream is drained: the hold ran out before it was let go.
  bool ran_out() const;

 private:
  std::uint32_t* flags() const { return static_cast<std::uint32_t*>(flags_.get()); }

  PinnedMemory flags_;         // two words
  Event passed_;               // behind the last hold
  std::uint32_t ticket_ = 0;   // of the last hold
};

// Writes `count` elements of 1, 2 or 4 bytes with the low bits of `bits`; `at` is a multiple of the element's size.
void enqueue_fill(cudaStream_t stream, void* at, std::uint32_t bits, std::size_t element_bytes, std::size_t count);

// A hash of `bytes` at `at`, wherever they lie, that changes when any byte does. Waits for the stream.
std::uint64_t fingerprint(cudaStream_t stream, const void* at, std::size_t bytes);

}  // namespace attn
