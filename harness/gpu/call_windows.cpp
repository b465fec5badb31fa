#include "gpu/call_windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/error.hpp"
#include "gpu/launch_tree.hpp"
#include "gpu/taken_memory.hpp"

namespace attn {
namespace {

// A record may seem to end behind the marker that waited for it, and a call to begin before the window it stands behind: two clocks, and their rounding.
constexpr std::int64_t kSlack_ns = 1000;

[[noreturn]] void incomplete(const std::string& what) { throw Error("the recording is not complete: " + what, Fault::internal); }

std::string quoted(const std::string& name) { return '"' + name.substr(0, 200) + '"'; }

// Contained, because the names of templates are mangled.
bool is_harness(const DeviceRecord& record) { return record.kind == ActivityKind::kernel && record.name.find(kHarnessKernels) != std::string::npos; }

struct Markers {
  const DeviceRecord* first = nullptr;
  const DeviceRecord* second = nullptr;
};

void check_whole(const Recording& recording) {
  if (!recording.faults.empty()) incomplete(recording.faults.front());
  if (!recording.dropped) incomplete("CUPTI cannot say whether it dropped records");
  if (*recording.dropped != 0) incomplete(fmt::format("CUPTI dropped {} records", *recording.dropped));
  for (const DeviceRecord& each : recording.device)
    if (each.start_ns <= 0 || each.end_ns < each.start_ns)
      incomplete(fmt::format("{} has no sane times, from {} to {} ns; after many records in one process CUPTI hands out such", quoted(each.name), each.start_ns, each.end_ns));
  for (const ApiRecord& each : recording.api)
    if (each.start_ns <= 0 || each.end_ns < each.start_ns) incomplete(fmt::format("{} has no sane times, from {} to {} ns", each.name, each.start_ns, each.end_ns));
  for (const MemoryRecord& each : recording.memory)
    if (each.time_ns <= 0) incomplete("device memory was taken or given back at no sane time");
  std::unordered_set<std::int64_t> launched;  // outside of graphs a launch has one kernel
  for (const DeviceRecord& each : recording.device)
    if (each.kind == ActivityKind::kernel && each.graph_node == 0 && each.correlation != 0 && !launched.insert(each.correlation).second)
      incomplete(fmt::format("{} was recorded twice (correlation {})", quoted(each.name), each.correlation));
}

std::vector<Markers> find_markers(const Recording& recording, std::size_t count) {
  std::vector<Markers> markers(count);
  for (const DeviceRecord& each : recording.device) {
    if (each.kind != ActivityKind::kernel || each.name != kMarkerKernel) continue;
    if (each.grid_x < 1 || each.grid_x > 2 * static_cast<std::int64_t>(count)) incomplete(fmt::format("a marker of {} blocks is none of the {} calls'", each.grid_x, count));
    const auto call = static_cast<std::size_t>((each.grid_x - 1) / 2);
    const DeviceRecord*& place = each.grid_x % 2 == 1 ? markers[call].first : markers[call].second;
    if (place) incomplete(fmt::format("the marker of {} blocks was recorded twice", each.grid_x));
    place = &each;
  }
  for (std::size_t call = 0; call < count; ++call) {
    if (!markers[call].first) incomplete(fmt::format("the marker before call {} has no record", call));
    if (!markers[call].second) incomplete(fmt::format("the marker behind call {} has no record", call));
    if (markers[call].second->start_ns < markers[call].first->end_ns || (call > 0 && markers[call].first->start_ns < markers[call - 1].second->end_ns))
      incomplete(fmt::format("the markers of call {} did not run in their order", call));
  }
  return markers;
}

// The calls in the making.
class Calls {
 public:
  Calls(const Recording& recording, const std::vector<CallWindow>& windows, bool with_api)
      : recording_(recording), windows_(windows), markers_(find_markers(recording, windows.size())), calls_(windows.size()) {
    if (with_api) tree_.emplace(recording.api);
  }

  std::vector<RecordedCall> take() {
    if (windows_.empty()) return {};
    if (tree_) check_clock();
    for (const DeviceRecord& each : recording_.device)
      if (const auto call = call_of(each)) add(*call, each);
    if (tree_) add_api_calls();
    add_memory();
    for (RecordedCall& call : calls_)
      std::ranges::stable_sort(call.activities, [](const Activity& a, const Activity& b) { return a.start_ns < b.start_ns; });
    return std::move(calls_);
  }

 private:
  // The launches of the markers surround the window; otherwise windows and records do not share a clock, or the harness did not keep its order.
  void check_clock() {
    for (std::size_t call = 0; call < windows_.size(); ++call) {
      const auto* before = tree_->find(markers_[call].first->correlation);
      const auto* behind = tree_->find(markers_[call].second->correlation);
      if (!before || !behind) incomplete(fmt::format("the launch of the marker {} call {} has no record", before ? "behind" : "before", call));
      harness_thread_ = recording_.api[before->call].thread;
      const CallWindow& window = windows_[call];
      if (window.begin_ns + kSlack_ns < recording_.api[before->call].end_ns || window.end_ns < window.begin_ns ||
          recording_.api[behind->call].start_ns + kSlack_ns < window.end_ns)
        incomplete(fmt::format("call {} was made from {} to {} ns, which is not between the launches of its markers, {} and {} ns", call, window.begin_ns, window.end_ns,
                               recording_.api[before->call].end_ns, recording_.api[behind->call].start_ns));
    }
  }

  std::optional<std::size_t> window_of(std::int64_t host_ns) const {
    const auto after = std::ranges::upper_bound(windows_, host_ns, {}, &CallWindow::begin_ns);
    if (after == windows_.begin() || host_ns >= std::prev(after)->end_ns) return std::nullopt;
    return static_cast<std::size_t>(std::prev(after) - windows_.begin());
  }

  // The last call whose first marker had ended.
  std::optional<std::size_t> call_at(std::int64_t device_ns) const {
    const auto after = std::ranges::upper_bound(markers_, device_ns, {}, [](const Markers& each) { return each.first->end_ns; });
    if (after == markers_.begin()) return std::nullopt;
    return static_cast<std::size_t>(std::prev(after) - markers_.begin());
  }

  std::optional<std::size_t> call_of(const DeviceRecord& record) const {
    const auto by_time = call_at(record.start_ns);
    const bool between = by_time && record.start_ns < markers_[*by_time].second->start_ns;
    if (is_harness(record)) {
      // By its launch, where that is known: a name is the call's to choose.
      const auto* launch = tree_ && record.name != kMarkerKernel ? tree_->find(record.correlation) : nullptr;
      const bool launched_inside = launch && window_of(recording_.api[launch->call].start_ns);
      const bool elsewhere = by_time && record.name != kMarkerKernel && record.stream != markers_[*by_time].first->stream;
      if ((between && record.name != kMarkerKernel) || launched_inside || elsewhere) incomplete(fmt::format("{} of the harness ran inside call {}", quoted(record.name), *by_time));
      return std::nullopt;
    }
    // What stands behind the second marker on the harness's stream is the harness's: a call's work stands before it.
    if (!tree_) return by_time && !between && record.stream == markers_[*by_time].second->stream ? std::nullopt : by_time;
    const auto* launch = tree_->find(record.correlation);
    if (!launch) {
      if (by_time && record.graph_node == 0) incomplete(fmt::format("{} in call {} was launched by no call of the runtime or driver that is recorded", quoted(record.name), *by_time));
      return by_time;
    }
    const ApiRecord& call = recording_.api[launch->call];
    if (const auto window = window_of(call.start_ns)) return window;
    if (call.thread != harness_thread_) return by_time;
    if (between) incomplete(fmt::format("{}, launched by the harness's {}, ran inside call {}", quoted(record.name), call.name, *by_time));
    return std::nullopt;
  }

  void add(std::size_t index, const DeviceRecord& record) {
    RecordedCall& call = calls_[index];
    const std::int64_t zero = markers_[index].first->end_ns;
    call.activities.push_back({record.kind, record.name, record.bytes, record.start_ns - zero, record.end_ns - zero});
    if (record.end_ns > markers_[index].second->start_ns + kSlack_ns) call.outlives_stream = true;
  }

  void add_api_calls() {
    std::unordered_set<std::int64_t> recorded;
    for (const DeviceRecord& each : recording_.device) recorded.insert(each.correlation);
    for (const LaunchTree::Root& root : tree_->roots()) {
      const ApiRecord& call = recording_.api[root.call];
      const auto index = window_of(call.start_ns);
      if (!index || &root == tree_->find(markers_[*index].second->correlation)) continue;
      const bool needs_record = root.launches == Launches::kernel || root.launches == Launches::graph || (root.launches == Launches::memory && root.bytes.value_or(0) > 0);
      if (needs_record && !root.capturing && std::ranges::none_of(root.correlations, [&](std::int64_t id) { return recorded.contains(id); }))
        incomplete(fmt::format("{} in call {} (correlation {}) has no record of what it launched{}", call.name, *index, call.correlation,
                               root.launches == Launches::graph ? ", or the graph is empty, which cannot be told apart" : ""));
      if (call.result != 0 && launches(call) != Launches::nothing && calls_[*index].failed_launch.empty())
        calls_[*index].failed_launch = fmt::format("{}: error {}", call.name, call.result);
      if (root.left_open) incomplete(fmt::format("call {} left a stream in capture: nothing that follows can be accounted for", *index));
      if (root.capturing && launches(call) != Launches::nothing) continue;  // it put nothing on the device
      const std::int64_t zero = markers_[*index].first->end_ns;
      calls_[*index].activities.push_back({ActivityKind::api, call.name, std::nullopt, call.start_ns - zero, call.end_ns - zero});
    }
  }

  void add_memory() {
    TakenMemory taken;  // by the calls
    std::vector<const MemoryRecord*> in_order;
    for (const MemoryRecord& each : recording_.memory) in_order.push_back(&each);
    std::ranges::stable_sort(in_order, {}, [](const MemoryRecord* each) { return each->time_ns; });
    for (const MemoryRecord* each : in_order) {
      const auto index = window_of(each->time_ns);
      if (!index) continue;
      RecordedCall& call = calls_[*index];
      call.kept_bytes += taken.change(*each);
      call.peak_allocated_bytes = std::max(call.peak_allocated_bytes, call.kept_bytes);
    }
  }

  const Recording& recording_;
  const std::vector<CallWindow>& windows_;
  std::vector<Markers> markers_;
  std::vector<RecordedCall> calls_;
  std::optional<LaunchTree> tree_;
  std::int64_t harness_thread_ = 0;
};

}  // namespace

std::vector<RecordedCall> recorded_calls(const Recording& recording, const std::vector<CallWindow>& windows, bool with_api) {
  check_whole(recording);
  return Calls(recording, windows, with_api).take();
}

double busy_ns(const CallActivities& activities) {
  std::vector<std::pair<std::int64_t, std::int64_t>> intervals;
  for (const Activity& each : activities)
    if (each.kind != ActivityKind::api) intervals.emplace_back(each.start_ns, each.end_ns);
  std::ranges::sort(intervals);
  std::int64_t busy = 0, until = 0;
  bool any = false;
  for (const auto& [start, end] : intervals) {
    const std::int64_t from = any ? std::max(start, until) : start;
    if (end > from) busy += end - from;
    until = any ? std::max(until, end) : end;
    any = true;
  }
  return static_cast<double>(busy);
}

}  // namespace attn
