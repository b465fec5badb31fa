#include "gpu/cupti.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "gpu/copy_sizes.hpp"
#include "gpu/cupti_library.hpp"
#include "gpu/cupti_records.hpp"

namespace attn {
namespace {

constexpr std::size_t kBufferBytes = 256 << 10;  // with 8 MB and more CUPTI stalled the stream in public reports
constexpr std::size_t kBuffersAhead = 16;        // made before they are needed
constexpr std::size_t kMostBuffers = 4096;       // 1 GiB of records; CUPTI counts what finds no room as dropped

constexpr CUpti_ActivityKind kDeviceKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                               CUPTI_ACTIVITY_KIND_MEMSET};
constexpr CUpti_ActivityKind kHostKinds[] = {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MEMORY2};

// Zeroed memory, aligned as records need it.
using Buffer = std::unique_ptr<std::uint64_t[]>;

Buffer make_buffer() { return std::make_unique<std::uint64_t[]>(kBufferBytes / sizeof(std::uint64_t)); }

// The buffers between CUPTI and us. Each has one owner: the pool, CUPTI, or who reads it.
class BufferPool {
 public:
  struct Filled {
    Buffer buffer;
    std::size_t bytes = 0;
  };

  void grow_to(std::size_t count) {
    const std::lock_guard lock(mutex_);
    for (; made_ < count; ++made_) empty_.push_back(make_buffer());
  }

  // Null when there are too many already.
  std::uint8_t* lend() {
    const std::lock_guard lock(mutex_);
    if (empty_.empty()) {
      if (made_ == kMostBuffers) return nullptr;
      empty_.push_back(make_buffer());
      ++made_;
    }
    Buffer buffer = std::move(empty_.back());
    empty_.pop_back();
    return reinterpret_cast<std::uint8_t*>(buffer.release());
  }

  void give_back(std::uint8_t* bytes, std::size_t filled) {
    const std::lock_guard lock(mutex_);
    filled_.push_back({Buffer(reinterpret_cast<std::uint64_t*>(bytes)), filled});
  }

  std::vector<Filled> take_filled() {
    const std::lock_guard lock(mutex_);
    return std::exchange(filled_, {});
  }

  void recycle(Filled used) {
    std::memset(used.buffer.get(), 0, kBufferBytes);
    const std::lock_guard lock(mutex_);
    empty_.push_back(std::move(used.buffer));
  }

 private:
  std::mutex mutex_;
  std::vector<Buffer> empty_;
  std::vector<Filled> filled_;
  std::size_t made_ = 0;
};

// CUPTI's buffer callbacks carry no pointer of ours. Never destroyed: CUPTI may hand a buffer back while the process ends.
BufferPool& pool() {
  static BufferPool& the_pool = *new BufferPool;
  return the_pool;
}

std::atomic<bool> in_use{false};

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = pool().lend();
  *size = *buffer ? kBufferBytes : 0;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t filled) {
  if (buffer) pool().give_back(buffer, filled);
}

bool has_times(const DeviceRecord& record) { return record.start_ns > 0 && record.end_ns >= record.start_ns; }

}  // namespace

struct Cupti::State {
  explicit State(const std::string& path) : library(path), copy_sizes(library) {}
  CuptiLibrary library;
  CopySizes copy_sizes;
  CUpti_SubscriberHandle subscriber = nullptr;
  Recorded recorded = Recorded::nothing;

  ~State() {
    if (subscriber) {  // otherwise CUPTI is somebody else's
      for (const CUpti_ActivityKind kind : kHostKinds) library.disable(kind);
      for (const CUpti_ActivityKind kind : kDeviceKinds) library.disable(kind);
      library.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
      library.unsubscribe(subscriber);
      for (auto& each : pool().take_filled()) pool().recycle(std::move(each));
    }
    in_use = false;
  }

  void switch_to(Recorded what) {
    const Recorded before = std::exchange(recorded, std::max(recorded, what));  // should a step fail, what may be on will be switched off the next time
    if ((what == Recorded::everything) != (before == Recorded::everything)) copy_sizes.watch(subscriber, what == Recorded::everything);
    for (const CUpti_ActivityKind kind : kHostKinds) set(kind, what == Recorded::everything, before == Recorded::everything);
    for (const CUpti_ActivityKind kind : kDeviceKinds) set(kind, what != Recorded::nothing, before != Recorded::nothing);
    recorded = what;
  }

  void set(CUpti_ActivityKind kind, bool wanted, bool now) const {
    if (wanted == now) return;
    library.check(wanted ? library.enable(kind) : library.disable(kind),
                  fmt::format("{} of kind {}", wanted ? "cuptiActivityEnable" : "cuptiActivityDisable", static_cast<int>(kind)));
  }

  Recording take() {
    // First all buffers whose records are complete, which after the drain should be all; then the others by force: a record that is still open then shows
    // itself by times of 0 instead of staying away.
    library.check(library.flush_all(0), "cuptiActivityFlushAll");
    library.check(library.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll by force");
    Recording recording;
    for (auto& each : pool().take_filled()) {
      read_records(library, reinterpret_cast<std::uint8_t*>(each.buffer.get()), std::min(each.bytes, kBufferBytes), recording);
      pool().recycle(std::move(each));
    }
    const auto bytes_of = copy_sizes.take();
    for (ApiRecord& each : recording.api)
      if (const auto bytes = bytes_of.find(each.correlation); bytes != bytes_of.end()) each.bytes = bytes->second;
    std::size_t dropped = 0;
    if (library.dropped_records(nullptr, 0, &dropped) == CUPTI_SUCCESS) recording.dropped = static_cast<std::int64_t>(dropped);
    const auto by_start = [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; };
    std::stable_sort(recording.device.begin(), recording.device.end(), by_start);
    std::stable_sort(recording.api.begin(), recording.api.end(), by_start);
    std::stable_sort(recording.memory.begin(), recording.memory.end(), [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
    return recording;
  }

  // Throws unless `recording` is that of the known work.
  void prove(const KnownWork& known, const Recording& recording, bool with_calls) const {
    const auto fail = [&](const std::string& what) {
      throw Error(fmt::format("CUPTI {} ({}) records, but not all: {}, after a run of {} kernels, {} memcpys and {} memsets. Look for another profiler in the process{}; "
                              "timing alone still works: --gates latency,numerics",
                              library.version, library.path, what, known.kernels, known.memcpys, known.memsets,
                              likely_cupti_holder().empty() ? "" : ", probably " + likely_cupti_holder()),
                  Fault::internal);
    };
    if (recording.device.empty() && known.kernels + known.memcpys + known.memsets > 0)
      throw Error(fmt::format("CUPTI {} ({}) reported success but recorded nothing of {} kernels, {} memcpys and {} memsets: this user may not profile the GPU (load the "
                              "driver's module with NVreg_RestrictProfilingToAdminUsers=0, or run with CAP_SYS_ADMIN, in a container --cap-add=SYS_ADMIN), or this CUPTI "
                              "does not fit the driver. Timing alone still works: --gates latency,numerics",
                              library.version, library.path, known.kernels, known.memcpys, known.memsets),
                  Fault::internal);
    if (!recording.faults.empty()) fail(recording.faults.front());
    if (!recording.dropped) fail("it cannot say whether records were dropped");
    if (*recording.dropped != 0) fail(fmt::format("{} records were dropped", *recording.dropped));
    const auto count = [&](ActivityKind kind) { return std::ranges::count_if(recording.device, [&](const auto& each) { return each.kind == kind; }); };
    if (count(ActivityKind::kernel) != known.kernels || count(ActivityKind::memcpy) != known.memcpys || count(ActivityKind::memset) != known.memsets)
      fail(fmt::format("{} kernels, {} memcpys and {} memsets came back", count(ActivityKind::kernel), count(ActivityKind::memcpy), count(ActivityKind::memset)));
    for (const DeviceRecord& each : recording.device)
      if (!has_times(each)) fail(fmt::format("{} runs from {} to {} ns", each.name, each.start_ns, each.end_ns));
    if (!with_calls) return;
    for (const DeviceRecord& each : recording.device)
      if (std::ranges::none_of(recording.api, [&](const auto& call) { return call.correlation == each.correlation; }))
        fail(fmt::format("the call that launched {} has no record", each.name));
  }
};

Cupti::Cupti(const std::string& library, const KnownWork& known_work) {
  if (in_use.exchange(true)) throw Error("CUPTI is opened twice in one process", Fault::internal);
  try {
    state_ = std::make_unique<State>(library);  // whose destructor gives `in_use` back
  } catch (...) {
    in_use = false;
    throw;
  }
  const CuptiLibrary& cupti = state_->library;
  cupti.check(cupti.subscribe(&state_->subscriber, CopySizes::callback, &state_->copy_sizes), "cuptiSubscribe");
  pool().grow_to(kBuffersAhead);
  // CUPTI would zero each buffer itself, in the thread that launches. Where it cannot be told it does so, which is right too.
  std::uint8_t zeroed = 1;
  std::size_t size = sizeof zeroed;
  cupti.set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
  cupti.check(cupti.register_callbacks(buffer_requested, buffer_completed), "cuptiActivityRegisterCallbacks");

  record(Recorded::device);
  known_work.run();
  take();
  known_work.run();
  state_->prove(known_work, take(), false);
  record(Recorded::everything);
  known_work.run();
  state_->prove(known_work, take(), true);
  record(Recorded::nothing);
  take();
}

Cupti::~Cupti() = default;

void Cupti::record(Recorded what) { state_->switch_to(what); }

Recording Cupti::take() { return state_->take(); }

std::int64_t Cupti::now_ns() const {
  std::uint64_t now = 0;
  state_->library.check(state_->library.timestamp(&now), "cuptiGetTimestamp");
  return static_cast<std::int64_t>(now);
}

const std::string& Cupti::version() const { return state_->library.version; }
const std::string& Cupti::path() const { return state_->library.path; }

}  // namespace attn
