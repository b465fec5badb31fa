#include "gpu/cupti_records.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <utility>

namespace attn {
namespace {

// Within a major version records only grow, so that the oldest structs which have all fields used here describe what every version delivers. The sizes are
// those of the used prefix, not of the struct: an older library delivers less behind it.
using Kernel = CUpti_ActivityKernel9;
using Memcpy = CUpti_ActivityMemcpy5;
using PeerMemcpy = CUpti_ActivityMemcpyPtoP4;
using Memset = CUpti_ActivityMemset4;
using Memory = CUpti_ActivityMemory3;
using Call = CUpti_ActivityAPI;

const char* memcpy_name(int kind) {
  constexpr const char* kNames[] = {"Memcpy", "Memcpy HtoD", "Memcpy DtoH", "Memcpy HtoA", "Memcpy AtoH", "Memcpy AtoA",
                                    "Memcpy AtoD", "Memcpy DtoA", "Memcpy DtoD", "Memcpy HtoH", "Memcpy PtoP"};
  return kind >= 0 && kind < static_cast<int>(std::size(kNames)) ? kNames[kind] : kNames[0];
}

// Records of other clients' kinds, or that CUPTI adds by itself: no work of the device, nothing that we count.
bool is_background(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_DEVICE:
    case CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE:
    case CUPTI_ACTIVITY_KIND_CONTEXT:
    case CUPTI_ACTIVITY_KIND_STREAM:
    case CUPTI_ACTIVITY_KIND_NAME:
    case CUPTI_ACTIVITY_KIND_MARKER:
    case CUPTI_ACTIVITY_KIND_MARKER_DATA:
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
    case CUPTI_ACTIVITY_KIND_ENVIRONMENT:
    case CUPTI_ACTIVITY_KIND_MODULE:
    case CUPTI_ACTIVITY_KIND_FUNCTION:
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
    case CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API:
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
    case CUPTI_ACTIVITY_KIND_JIT:
      return true;
    default:
      return false;
  }
}

template <class Record>
DeviceRecord device_record(const Record& record, ActivityKind kind, std::string name) {
  DeviceRecord out;
  out.kind = kind;
  out.name = std::move(name);
  out.start_ns = static_cast<std::int64_t>(record.start);
  out.end_ns = static_cast<std::int64_t>(record.end);
  out.correlation = record.correlationId;
  out.stream = record.streamId;
  out.graph_node = static_cast<std::int64_t>(record.graphNodeId);
  out.device = record.deviceId;
  if constexpr (requires { record.bytes; }) out.bytes = static_cast<std::int64_t>(record.bytes);
  return out;
}

class Reader {
 public:
  Reader(const CuptiLibrary& cupti, const std::uint8_t* end, Recording& into) : cupti_(cupti), end_(end), into_(into) {}

  void read(const CUpti_Activity* activity) {
    switch (activity->kind) {
      case CUPTI_ACTIVITY_KIND_KERNEL:
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        if (const auto* record = as<Kernel>(activity, offsetof(Kernel, graphNodeId) + sizeof(Kernel::graphNodeId))) {
          into_.device.push_back(device_record(*record, ActivityKind::kernel, record->name ? record->name : "(a kernel without a name)"));
          into_.device.back().grid_x = record->gridX;
        }
        break;
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        if (const auto* record = as<Memcpy>(activity, offsetof(Memcpy, graphNodeId) + sizeof(Memcpy::graphNodeId)))
          into_.device.push_back(device_record(*record, ActivityKind::memcpy, memcpy_name(record->copyKind)));
        break;
      case CUPTI_ACTIVITY_KIND_MEMCPY2:
        if (const auto* record = as<PeerMemcpy>(activity, offsetof(PeerMemcpy, graphNodeId) + sizeof(PeerMemcpy::graphNodeId)))
          into_.device.push_back(device_record(*record, ActivityKind::memcpy, memcpy_name(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP)));
        break;
      case CUPTI_ACTIVITY_KIND_MEMSET:
        if (const auto* record = as<Memset>(activity, offsetof(Memset, graphNodeId) + sizeof(Memset::graphNodeId)))
          into_.device.push_back(device_record(*record, ActivityKind::memset, "Memset"));
        break;
      case CUPTI_ACTIVITY_KIND_RUNTIME:
      case CUPTI_ACTIVITY_KIND_DRIVER:
        if (const auto* record = as<Call>(activity, sizeof(Call))) into_.api.push_back(call(*record));
        break;
      case CUPTI_ACTIVITY_KIND_MEMORY2:
        if (const auto* record = as<Memory>(activity, offsetof(Memory, timestamp) + sizeof(Memory::timestamp))) memory(*record);
        break;
      case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        into_.faults.push_back("the replay of a graph came as one record instead of one for each node: another profiler in the process asked for that");
        break;
      default:
        if (!is_background(activity->kind)) into_.faults.push_back(fmt::format("a record of kind {}, which was not asked for", static_cast<int>(activity->kind)));
    }
  }

 private:
  template <class Record>
  const Record* as(const CUpti_Activity* activity, std::size_t used_bytes) {
    if (reinterpret_cast<const std::uint8_t*>(activity) + used_bytes <= end_) return reinterpret_cast<const Record*>(activity);
    into_.faults.push_back(fmt::format("a record of kind {} is cut off by the end of its buffer", static_cast<int>(activity->kind)));
    return nullptr;
  }

  ApiRecord call(const Call& record) {
    const bool runtime = record.kind == CUPTI_ACTIVITY_KIND_RUNTIME;
    const char* name = nullptr;
    ApiRecord out;
    if (cupti_.callback_name(runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, record.cbid, &name) == CUPTI_SUCCESS && name)
      out.name = plain_call_name(name);
    else
      out.name = fmt::format("{} call {}", runtime ? "runtime" : "driver", record.cbid);
    out.start_ns = static_cast<std::int64_t>(record.start);
    out.end_ns = static_cast<std::int64_t>(record.end);
    out.correlation = record.correlationId;
    out.thread = record.threadId;
    out.result = record.returnValue;
    return out;
  }

  void memory(const Memory& record) {
    // Host memory and what the driver maps for itself are not the device's.
    if (record.memoryKind != CUPTI_ACTIVITY_MEMORY_KIND_DEVICE && record.memoryKind != CUPTI_ACTIVITY_MEMORY_KIND_MANAGED) return;
    const bool allocates = record.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
    if (!allocates && record.memoryOperationType != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE) return;
    into_.memory.push_back({allocates, static_cast<std::int64_t>(record.address), static_cast<std::int64_t>(record.bytes), static_cast<std::int64_t>(record.timestamp)});
  }

  const CuptiLibrary& cupti_;
  const std::uint8_t* end_;
  Recording& into_;
};

}  // namespace

void read_records(const CuptiLibrary& cupti, std::uint8_t* buffer, std::size_t size, Recording& into) {
  if (size == 0) return;
  Reader reader(cupti, buffer + size, into);
  CUpti_Activity* record = nullptr;
  CUptiResult result = CUPTI_SUCCESS;
  while ((result = cupti.next_record(buffer, size, &record)) == CUPTI_SUCCESS) reader.read(record);
  if (result != CUPTI_ERROR_MAX_LIMIT_REACHED) into.faults.push_back(cupti.text(result, fmt::format("reading a buffer of {} bytes", size)));
}

std::string plain_call_name(const std::string& name) {
  std::string plain = name;
  for (bool again = true; again;) {
    again = false;
    const auto underscore = plain.rfind('_');
    if (underscore == std::string::npos || underscore == 0) break;
    const std::string suffix = plain.substr(underscore + 1);
    const bool version = suffix.size() > 1 && suffix[0] == 'v' && suffix.find_first_not_of("0123456789", 1) == std::string::npos;
    if (version || suffix == "ptsz" || suffix == "ptds") {
      plain.resize(underscore);
      again = true;
    }
  }
  return plain;
}

}  // namespace attn
