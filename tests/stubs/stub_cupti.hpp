#pragma once
// A CUPTI without a GPU: a test puts records in, the program under test gets them out through CUPTI's own functions, with every fault CUPTI is known for.

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace attn::test {

// The stub's state, which a test changes at will. Its functions are virtual so that a test needs no symbol of the stub but one.
struct StubCupti {
  // Return codes by function name ("cuptiSubscribe"); absent: success. Also from the environment: ATTN_STUB_CUPTI="cuptiSubscribe=39,version=120400".
  std::map<std::string, int> returns;
  std::uint32_t version = CUPTI_API_VERSION;
  std::size_t dropped = 0;
  std::size_t records_per_buffer = 1000;
  bool buffers_reversed = false;     // handed over last first
  std::size_t cut_off_bytes = 0;     // of the last buffer's end
  std::int64_t lose_every = 0;       // of the device records every n-th never comes
  bool zero_times = false;           // device records have start = end = 0
  bool withhold = false;             // a flush without force returns nothing
  std::vector<std::string> call_names = {""};  // by callback id

  std::string holder;                // what a failing cuptiSubscribe_v2 calls the other subscriber

  // What the program under test did.
  bool subscribed = false;
  std::int64_t subscriptions = 0, finalised = 0;
  std::set<int> enabled;
  std::size_t largest_buffer = 0;
  std::int64_t dirty_buffers = 0;    // not zeroed, though it promised to zero them
  bool zeroed_promised = false;
  std::int64_t clock_ns = 1'000'000;

  virtual void reset();
  // Recorded if its kind is enabled.
  virtual void put(const void* record, std::size_t size);
  // Fills buffers with what was put and hands them over at once, as CUPTI's own thread may at any time.
  virtual void hand_over();
  // Tells the subscriber that a call begins, if it wants to know.
  virtual void begin_call(bool runtime, std::uint32_t call, const void* parameters, std::uint32_t correlation);

  std::vector<std::vector<std::uint8_t>> pending;
  std::int64_t device_records = 0;
  CUpti_CallbackFunc subscriber = nullptr;
  void* subscriber_data = nullptr;
  std::set<std::pair<int, std::uint32_t>> watched;  // domain and call
};

// Exported by the stub under this name.
inline constexpr const char* kStubCuptiSymbol = "attn_stub_cupti";
using StubCuptiFunction = StubCupti* (*)();

// Records as CUPTI lays them out.
inline CUpti_ActivityKernel9 kernel_record(const char* name, std::int64_t start_ns, std::int64_t end_ns, std::uint32_t correlation, std::int32_t grid_x = 1,
                                           std::uint64_t node = 0) {
  CUpti_ActivityKernel9 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = name;
  record.start = static_cast<std::uint64_t>(start_ns);
  record.end = static_cast<std::uint64_t>(end_ns);
  record.correlationId = correlation;
  record.gridX = grid_x;
  record.graphNodeId = node;
  record.streamId = 7;
  return record;
}

inline CUpti_ActivityMemcpy5 memcpy_record(int copy_kind, std::uint64_t bytes, std::int64_t start_ns, std::int64_t end_ns, std::uint32_t correlation) {
  CUpti_ActivityMemcpy5 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.copyKind = static_cast<std::uint8_t>(copy_kind);
  record.bytes = bytes;
  record.start = static_cast<std::uint64_t>(start_ns);
  record.end = static_cast<std::uint64_t>(end_ns);
  record.correlationId = correlation;
  return record;
}

inline CUpti_ActivityMemset4 memset_record(std::uint64_t bytes, std::int64_t start_ns, std::int64_t end_ns, std::uint32_t correlation) {
  CUpti_ActivityMemset4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  record.bytes = bytes;
  record.start = static_cast<std::uint64_t>(start_ns);
  record.end = static_cast<std::uint64_t>(end_ns);
  record.correlationId = correlation;
  return record;
}

inline CUpti_ActivityAPI call_record(bool runtime, std::uint32_t callback, std::int64_t start_ns, std::int64_t end_ns, std::uint32_t correlation,
                                     std::uint32_t thread = 1) {
  CUpti_ActivityAPI record{};
  record.kind = runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  record.cbid = callback;
  record.start = static_cast<std::uint64_t>(start_ns);
  record.end = static_cast<std::uint64_t>(end_ns);
  record.correlationId = correlation;
  record.threadId = thread;
  return record;
}

inline CUpti_ActivityMemory3 memory_record(bool allocates, CUpti_ActivityMemoryKind kind, std::uint64_t address, std::uint64_t bytes, std::int64_t time_ns) {
  CUpti_ActivityMemory3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType = allocates ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  record.memoryKind = kind;
  record.address = address;
  record.bytes = bytes;
  record.timestamp = static_cast<std::uint64_t>(time_ns);
  return record;
}

}  // namespace attn::test
