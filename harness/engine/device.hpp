#pragma once
// What a trial needs of the place where it runs: memory, inputs, a reference, and a meter for its calls. There are two: the host and a GPU.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi/attn_abi.h"
#include "base/error.hpp"
#include "core/case.hpp"
#include "core/environment.hpp"
#include "engine/open_watch.hpp"
#include "engine/reference.hpp"
#include "engine/row_sample.hpp"
#include "engine/tensor_view.hpp"

namespace attn {

class Calls;
class Meter;

// Memory that is not to be had now.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message) : Error(message, Fault::internal) {}
};

class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual const Environment& environment() const = 0;
  virtual attn_device_facts facts() const = 0;
  virtual DLDevice dl() const = 0;
  virtual double free_bytes() const = 0;    // memory that can be had now
  virtual double usable_share() const = 0;  // of the whole memory, that one trial may take
  virtual SampleLimits sample_limits() const = 0;  // of the rows that the reference evaluates, per output

  // Memory, aligned to 256 bytes, uninitialised. Throws OutOfMemory when it is not to be had.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;
  // What follows may be enqueued only; read, fingerprint and wait come back when everything enqueued before is done.
  virtual void set(std::byte* at, std::uint8_t value, std::size_t bytes) = 0;
  virtual void fill(std::byte* at, std::uint32_t bits, std::size_t element_bytes, std::size_t count) = 0;  // elements of 1, 2 or 4 bytes
  virtual void write(std::byte* at, const void* from, std::size_t bytes) = 0;                                 // from host memory, which may be reused at once
  virtual void read(void* to, const std::byte* at, std::size_t bytes) = 0;                                    // to host memory
  virtual std::uint64_t fingerprint(const std::byte* at, std::size_t bytes) = 0;
  virtual void fill_inputs(const Case& value, std::uint64_t seed, const TensorView& q, const TensorView& k, const TensorView& v) = 0;
  virtual void fill_mask(const Case& value, std::uint64_t seed, const TensorView& mask) = 0;
  virtual void fill_gradient(const Case& value, std::uint64_t seed, const TensorView& dout) = 0;
  // The elements of `source` to a dense (batch, seq, heads, dim), bits kept: within the device's memory, and to host memory. A row that `source` does not have
  // is zeros there.
  virtual void copy_dense(const TensorView& source, std::byte* to) = 0;
  virtual void read_dense(std::byte* to, const TensorView& source) = 0;
  virtual void chill() = 0;  // the next call finds cold caches
  virtual void* stream() = 0;  // null on a host
  // Throws Error when work on the device has failed.
  virtual void wait() = 0;
  // Why what runs on the device cannot be counted from outside; nothing when it can.
  virtual std::optional<std::string> records_fault() = 0;
  // Nothing on this device can be trusted any more: the worker must end.
  virtual bool lost() const = 0;

  virtual std::unique_ptr<Reference> reference(const Operands& operands) = 0;
  virtual std::unique_ptr<Meter> meter(Calls& calls) = 0;
  // From here on nothing is timed by the host's clock in this process: whatever can be recorded may be, from `open` on.
  virtual void listen() = 0;
  virtual std::unique_ptr<OpenWatch> watch_open() = 0;
};

// "auto" (a GPU when there is one), "cpu", "cuda" (the first GPU) or "cuda:N". Throws Error that says why there is no such device.
std::unique_ptr<Device> open_device(const std::string& name);

// A dense copy of a view in host memory, in the order (batch, seq, heads, dim), without a row table.
struct HostCopy {
  std::vector<std::byte> storage;
  TensorView view;
};
HostCopy read_dense(Device& device, const TensorView& source);

}  // namespace attn
