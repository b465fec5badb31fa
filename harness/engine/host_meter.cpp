#include "engine/host_meter.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/clock.hpp"
#include "engine/op_recorder.hpp"
#include "stats/drift.hpp"
#include "stats/summary.hpp"

namespace attn {

// One call and the memory's books. Returns nanoseconds.
double HostMeter::call() {
  calls_.prepare();
  const double elapsed = calls_.make(nullptr);
  watch_.sample();
  return elapsed;
}

void HostMeter::bare(const Request& request, Block& block) {
  block.first_ns = call();
  calls_.check_damage();
  block.second_ns = call();
  std::vector<double> samples;
  const std::int64_t start = now_ns();
  for (;;) {
    const std::int64_t spent = now_ns() - start, count = static_cast<std::int64_t>(samples.size());
    if (count >= request.max_calls || (count >= request.min_calls && spent >= request.timing_ns)) break;
    if (count >= 3 && spent >= 4 * std::max<std::int64_t>(request.timing_ns, 1'000'000'000)) break;  // calls so slow that fewer must do
    samples.push_back(call());
  }
  if (!request.timing) return;
  watch_.doubt([&] { call(); });
  block.instrument = Instrument::reported;
  block.calls = static_cast<std::int64_t>(samples.size());
  block.host_ns = block.span_ns = block.device_ns = median(samples);
  block.drift = thirds_ratio(samples);
}

void HostMeter::account(const Request&, MeasurementRecord& record) {
  constexpr int kAccountedCalls = 3;
  if (!calls_.reports_ops()) return;
  OpRecorder recorder;
  for (int i = 0; i < kAccountedCalls; ++i) {
    calls_.prepare();
    const std::int64_t start = now_ns();
    calls_.make(&recorder);
    CallActivities activities = recorder.take();
    for (Activity& activity : activities) {
      activity.start_ns -= start;
      activity.end_ns -= start;
    }
    record.calls.push_back(std::move(activities));
  }
  record.counted = true;
}

}  // namespace attn
