#pragma once
// From a recording to calls: what lies between two markers belongs to one call, and all of it must be accounted for.

#include <cstdint>
#include <vector>

#include "core/activity.hpp"
#include "gpu/recording.hpp"

namespace attn {

// The kernel that marks the borders of a call is launched with a grid of 2 * call + 1 blocks before it and 2 * call + 2 after it, call counting from 0.
inline constexpr const char* kMarkerKernel = "attn_harness_marker";

struct RecordedCall {
  CallActivities activities;           // device records and outermost API calls in the order of their start; times since the first marker's end
  std::int64_t peak_allocated_bytes = 0;  // device memory that the call took itself, at its highest
  std::int64_t kept_bytes = 0;         // of it, not given back when the call ended
  bool outlives_stream = false;        // work of the call was still running when the second marker, enqueued behind it on the call's stream, started
};

// The calls of a recording with `count` pairs of markers on the harness's stream. Between a first marker's end and the next call's first marker (or the end of
// the recording) everything but markers is the call's, whatever stream or thread it came from: the device is drained before the next call begins.
// With `with_api` every launching call must have its record and every record its call or graph node; without, only what the records say themselves is checked.
// Throws Error naming the first thing that is missing or senseless: dropped records, an unreadable drop counter, a lost marker, a launch without a kernel, times
// of 0 or an end before a start.
std::vector<RecordedCall> recorded_calls(const Recording& recording, std::int64_t count, bool with_api);

// Nanoseconds in which at least one device record was running.
double busy_ns(const CallActivities& activities);

}  // namespace attn
