#include <algorithm>
#include <atomic>
#include <limits>
#include <string>

#include "gpu/launch.hpp"

// Text is joined by hand here: nvcc warns about fmt's formatting of long double, which it sees as device code.

namespace attn {
namespace {

constexpr int kThreads = 256;

int multiprocessors() {
  int device = 0, count = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  return count;
}

// Enough blocks to keep every multiprocessor's loads in flight, no more than there is work for.
unsigned blocks_for(std::size_t items) {
  const std::size_t most = static_cast<std::size_t>(multiprocessors()) * 8, wanted = (items + kThreads - 1) / kThreads;
  return static_cast<unsigned>(std::clamp<std::size_t>(wanted, 1, most));
}

__device__ std::size_t first_item() { return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ std::size_t all_threads() { return static_cast<std::size_t>(gridDim.x) * blockDim.x; }

__device__ std::uint64_t now_ns() {
  std::uint64_t time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}

// SplitMix64's finaliser (Steele, Lea and Flood, OOPSLA 2014): a bijection, so that one changed word always changes the sum.
__host__ __device__ std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
__device__ std::uint64_t mix_word(std::uint64_t word, std::size_t index) { return mix(word ^ ((index + 1) * 0x9e3779b97f4a7c15u)); }

// Up to 8 bytes, the first one lowest.
__device__ std::uint64_t word_of_bytes(const std::uint8_t* at, std::size_t count) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < count && i < 8; ++i) word |= static_cast<std::uint64_t>(at[i]) << (8 * i);
  return word;
}

}  // namespace

// The kernels have plain C names, so that they are recognised in every recording.

extern "C" __global__ void attn_harness_marker() {}

// `lines` holds zeros: nothing is ever written.
extern "C" __global__ void attn_harness_flush(const uint4* lines, std::size_t count, std::uint32_t* sink) {
  std::uint32_t bits = 0;
  const std::size_t step = all_threads();
#pragma unroll 4
  for (std::size_t i = first_item(); i < count; i += step) {
    const uint4 line = __ldcg(lines + i);
    bits |= line.x | line.y | line.z | line.w;
  }
  if (bits != 0) *sink = bits;
}

// flags[0]: the last hold that was let go; flags[1]: the last that ran out.
extern "C" __global__ void attn_harness_hold(volatile std::uint32_t* flags, std::uint32_t ticket, std::uint64_t patience_ns) {
  const std::uint64_t start = now_ns();
  while (static_cast<std::int32_t>(flags[0] - ticket) < 0) {
    if (now_ns() - start > patience_ns) {
      flags[1] = ticket;
      __threadfence_system();
      return;
    }
    __nanosleep(500);
  }
}

// `head` and `tail` bytes before and after `middle` 16-byte words; `head` is a multiple of the element, so that `pattern` fits at every place.
extern "C" __global__ void attn_harness_fill(std::uint8_t* at, std::uint32_t pattern, std::size_t head, std::size_t middle, std::size_t tail) {
  auto* const words = reinterpret_cast<uint4*>(at + head);
  const std::size_t step = all_threads();
  for (std::size_t i = first_item(); i < middle; i += step) words[i] = make_uint4(pattern, pattern, pattern, pattern);
  if (blockIdx.x != 0) return;
  const auto byte = [&](std::size_t offset) { return static_cast<std::uint8_t>(pattern >> (8 * (offset % 4))); };
  if (threadIdx.x < head) at[threadIdx.x] = byte(threadIdx.x);
  if (threadIdx.x < tail) at[head + middle * 16 + threadIdx.x] = byte(threadIdx.x);
}

// Adds to `sum`, in any order: an addition of integers has the same result in each.
extern "C" __global__ void attn_harness_fingerprint(const std::uint8_t* at, std::size_t bytes, unsigned long long* sum) {
  const std::size_t step = all_threads();
  std::uint64_t own = 0;
  std::size_t done = 0;  // bytes read as 16-byte words
  if (reinterpret_cast<std::uintptr_t>(at) % 16 == 0) {
    const auto* const words = reinterpret_cast<const ulonglong2*>(at);
    done = bytes / 16 * 16;
#pragma unroll 4
    for (std::size_t i = first_item(); i < bytes / 16; i += step) {
      const ulonglong2 pair = words[i];
      own += mix_word(pair.x, 2 * i) + mix_word(pair.y, 2 * i + 1);
    }
  }
  for (std::size_t i = done / 8 + first_item(); i < (bytes + 7) / 8; i += step) own += mix_word(word_of_bytes(at + 8 * i, bytes - 8 * i), i);
  for (int lanes = 16; lanes > 0; lanes /= 2) own += __shfl_down_sync(0xffffffffu, own, lanes);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, static_cast<unsigned long long>(own));
}

void enqueue_marker(cudaStream_t stream, std::int64_t blocks) {
  if (blocks < 1 || blocks > std::numeric_limits<std::int32_t>::max()) throw Error("a marker of " + std::to_string(blocks) + " blocks", Fault::internal);
  attn_harness_marker<<<static_cast<unsigned>(blocks), 1, 0, stream>>>();
  check_cuda(cudaGetLastError(), "attn_harness_marker");
}

L2Flush::L2Flush(std::size_t bytes) : lines_(allocate_device(bytes)), bytes_(bytes), sink_(allocate_device(sizeof(std::uint32_t))) {
  check_cuda(cudaMemset(lines_.get(), 0, bytes_), "cudaMemset of " + std::to_string(bytes_) + " bytes");
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // other streams than the default one may come next
}

void L2Flush::enqueue(cudaStream_t stream) const {
  const std::size_t count = bytes_ / sizeof(uint4);
  attn_harness_flush<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<const uint4*>(lines_.get()), count, static_cast<std::uint32_t*>(sink_.get()));
  check_cuda(cudaGetLastError(), "attn_harness_flush");
}

StreamHold::StreamHold() {
  check_cuda(cudaHostAlloc(flags_.out(), 2 * sizeof(std::uint32_t), cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc of 8 bytes");
  flags()[0] = flags()[1] = 0;
  check_cuda(cudaEventCreateWithFlags(passed_.out(), cudaEventDisableTiming), "cudaEventCreateWithFlags");
}

StreamHold::~StreamHold() {
  let_go();
  cudaEventSynchronize(passed_.get());  // the kernel reads the flags that are freed next
}

void StreamHold::take(cudaStream_t stream, std::int64_t patience_ns) {
  void* seen = nullptr;  // the flags' address on the device
  check_cuda(cudaHostGetDevicePointer(&seen, flags_.get(), 0), "cudaHostGetDevicePointer");
  let_go();  // an earlier hold
  ++ticket_;
  attn_harness_hold<<<1, 1, 0, stream>>>(static_cast<volatile std::uint32_t*>(seen), ticket_, static_cast<std::uint64_t>(patience_ns));
  check_cuda(cudaGetLastError(), "attn_harness_hold");
  check_cuda(cudaEventRecord(passed_.get(), stream), "cudaEventRecord");
}

void StreamHold::let_go() { std::atomic_ref(flags()[0]).store(ticket_, std::memory_order_release); }

bool StreamHold::ran_out() const { return ticket_ != 0 && std::atomic_ref(flags()[1]).load(std::memory_order_acquire) == ticket_; }

void enqueue_fill(cudaStream_t stream, void* at, std::uint32_t bits, std::size_t element_bytes, std::size_t count) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if ((element_bytes != 1 && element_bytes != 2 && element_bytes != 4) || address % element_bytes != 0)
    throw Error("elements of " + std::to_string(element_bytes) + " bytes at address " + std::to_string(address) +
                    ": only whole elements of 1, 2 or 4 bytes can be filled",
                Fault::internal);
  const std::size_t bytes = element_bytes * count;
  if (bytes == 0) return;
  const std::uint32_t pattern = element_bytes == 1 ? (bits & 0xffu) * 0x01010101u : element_bytes == 2 ? (bits & 0xffffu) * 0x00010001u : bits;
  const std::size_t head = std::min<std::size_t>(bytes, (16 - address % 16) % 16), middle = (bytes - head) / 16, tail = (bytes - head) % 16;
  attn_harness_fill<<<blocks_for(middle), kThreads, 0, stream>>>(static_cast<std::uint8_t*>(at), pattern, head, middle, tail);
  check_cuda(cudaGetLastError(), "attn_harness_fill");
}

std::uint64_t fingerprint(cudaStream_t stream, const void* at, std::size_t bytes) {
  const DeviceMemory sum = allocate_device(sizeof(std::uint64_t));
  check_cuda(cudaMemsetAsync(sum.get(), 0, sizeof(std::uint64_t), stream), "cudaMemsetAsync of 8 bytes");
  attn_harness_fingerprint<<<blocks_for(bytes / 16), kThreads, 0, stream>>>(static_cast<const std::uint8_t*>(at), bytes,
                                                                            static_cast<unsigned long long*>(sum.get()));
  check_cuda(cudaGetLastError(), "attn_harness_fingerprint");
  std::uint64_t result = 0;
  check_cuda(cudaMemcpyAsync(&result, sum.get(), sizeof result, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync of 8 bytes");
  check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return mix(result ^ bytes);
}

}  // namespace attn
