#pragma once
// From a recording to calls: what lies between two markers belongs to one call, and all of it must be accounted for.

#include <cstdint>
#include <string>
#include <vector>

#include "core/activity.hpp"
#include "gpu/recording.hpp"

namespace attn {

// The kernel that marks the borders of a call is launched with a grid of 2 * call + 1 blocks before it and 2 * call + 2 after it, call counting from 0.
inline constexpr const char* kMarkerKernel = "attn_harness_marker";
// A kernel whose name contains this is the harness's own and part of no call.
inline constexpr const char* kHarnessKernels = "attn_harness_";

// The time on the host in which one call was made, by Cupti::now_ns: just before run() and just after it.
struct CallWindow {
  std::int64_t begin_ns = 0, end_ns = 0;
  static void fields(auto& self, auto&& visit) {
    visit("begin_ns", self.begin_ns);
    visit("end_ns", self.end_ns);
  }
};

struct RecordedCall {
  CallActivities activities;           // device records and outermost API calls in the order of their start; times since the first marker's end
  std::int64_t peak_allocated_bytes = 0;  // device memory that the call took itself, at its highest
  std::int64_t kept_bytes = 0;         // taken less given back, of what any of the calls took: negative when the call frees what an earlier one left
  std::string failed_launch;           // the first launching call that failed: "cudaLaunchKernel: error 9"; what it should have run never did
  bool outlives_stream = false;        // work of the call was still running when the second marker, enqueued behind it on the call's stream, started
  static void fields(auto& self, auto&& visit) {
    visit("activities", self.activities);
    visit("peak_allocated_bytes", self.peak_allocated_bytes);
    visit("kept_bytes", self.kept_bytes);
    visit("failed_launch", self.failed_launch);
    visit("outlives_stream", self.outlives_stream);
  }
};

// The calls of a recording. The harness does for each, on its thread and its stream:
//   prepare (whatever it likes, on its stream), first marker, drain the device, window.begin_ns, run(), window.end_ns, second marker, drain the device.
// A device record is the call's
//   with_api: when the API call that launched it, on whatever thread, began in the call's window; what the harness's thread launched outside the windows is the
//     harness's; what another thread launched outside of all windows goes by the rule without.
//   without: when it began between the end of the call's first marker and the end of the next call's (or the end of the recording); harness kernels and what the
//     harness's stream did behind the second marker left out.
// API calls that began in the window are the call's; of those within one another on one thread the outermost is listed.
//
// With `with_api` every launching call that succeeded must have its record (of itself or of a call within it) and every record of a call its API call, or be a
// node of a graph. Exempt is what one thread calls while it captures a stream: that launches nothing. A memcpy or memset needs no record when it moved nothing,
// or when nobody knows how much it moved (ApiRecord::bytes).
// Throws Error naming the first thing that is missing or senseless: dropped records, an unreadable drop counter, a lost marker, a launch without a kernel, times
// of 0 or an end before a start, a harness kernel inside a call.
std::vector<RecordedCall> recorded_calls(const Recording& recording, const std::vector<CallWindow>& windows, bool with_api);

// Nanoseconds in which at least one device record was running.
double busy_ns(const CallActivities& activities);

}  // namespace attn
