#include "engine/gpu_meter.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "engine/clock.hpp"
#include "engine/gpu_clock_watch.hpp"
#include "stats/drift.hpp"
#include "stats/summary.hpp"

namespace attn {
namespace {

constexpr std::int64_t kHoldPatienceNs = 200'000'000;   // a call that takes longer to enqueue, or that waits for the device, is timed without the hold
constexpr std::int64_t kBurst = 20;                     // calls between looks at the clocks
constexpr std::int64_t kBurstNs = 50'000'000;           // of work, after which the card rests as long: heat is the largest error of all (DESIGN section 9)
constexpr std::int64_t kAccountedCalls = 5;
constexpr int kWarmUpCalls = 2;

// Decides when enough calls were timed and lets the card rest in between.
class Pace {
 public:
  explicit Pace(const Request& request) : request_(request), start_(now_ns()), burst_start_(start_) {}

  bool goes_on(std::int64_t calls) {
    const std::int64_t spent = now_ns() - start_;
    if (calls >= request_.max_calls || (calls >= request_.min_calls && spent >= request_.timing_ns)) return false;
    return calls < 3 || spent < 4 * std::max<std::int64_t>(request_.timing_ns, 1'000'000'000);  // calls so slow that fewer must do
  }
  void rest() {
    const std::int64_t worked = now_ns() - burst_start_;
    if (worked < kBurstNs) return;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(worked, kBurstNs)));
    burst_start_ = now_ns();
  }

 private:
  const Request& request_;
  std::int64_t start_, burst_start_;
};

}  // namespace

// From the start of a call until the device has done it.
double GpuMeter::whole_call_ns() {
  calls_.prepare();
  device_.wait();
  const std::int64_t start = now_ns();
  calls_.make(nullptr);
  device_.wait();
  return static_cast<double>(now_ns() - start);
}

GpuMeter::Span GpuMeter::timed_call(bool held) {
  const cudaStream_t stream = device_.cuda_stream();
  calls_.prepare();
  if (held) hold_.take(stream, kHoldPatienceNs);
  Span span;
  try {
    check_cuda(cudaEventRecord(before_.get(), stream), "recording an event");
    span.host_ns = calls_.make(nullptr);
    check_cuda(cudaEventRecord(after_.get(), stream), "recording an event");
  } catch (...) {
    hold_.let_go();
    throw;
  }
  hold_.let_go();
  device_.wait();
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, before_.get(), after_.get()), "reading an event");
  span.span_ns = static_cast<double>(milliseconds) * 1e6;
  return span;
}

void GpuMeter::bare(const Request& request, Block& block) {
  if (device_.cupti_asked()) throw Error("host times are not measured in a worker that CUPTI was attached to", Fault::internal);
  block.first_ns = whole_call_ns();
  calls_.check_damage();
  block.second_ns = whole_call_ns();
  bool held = true;
  ClockWatch clocks(device_.nvml());
  Pace pace(request);
  std::vector<double> host, spans;
  while (pace.goes_on(static_cast<std::int64_t>(host.size()))) {
    const Span span = timed_call(held);
    if (held && hold_.ran_out()) {  // the call waits for the device: what was timed is our own patience
      held = false;
      host.clear();
      spans.clear();
      continue;
    }
    host.push_back(span.host_ns);
    spans.push_back(span.span_ns);
    if (host.size() % kBurst == 1) clocks.sample();
    pace.rest();
  }
  if (!request.timing) return;
  block.host_ns = median(host);
  block.span_ns = median(spans);
  clocks.report(block);
}

// `count` calls, each on a drained device, as CUPTI saw them.
std::vector<RecordedCall> GpuMeter::recorded(std::int64_t count, Recorded what) {
  Cupti& cupti = device_.cupti();
  const cudaStream_t stream = device_.cuda_stream();
  std::vector<CallWindow> windows;
  cupti.take();  // what came before is nobody's
  cupti.record(what);
  try {
    for (std::int64_t i = 0; i < count; ++i) {
      calls_.prepare();
      enqueue_marker(stream, 2 * i + 1);
      device_.wait();
      CallWindow& window = windows.emplace_back();
      window.begin_ns = cupti.now_ns();
      calls_.make(nullptr);
      window.end_ns = cupti.now_ns();
      enqueue_marker(stream, 2 * i + 2);
      device_.wait();
    }
  } catch (...) {
    cupti.record(Recorded::nothing);
    throw;
  }
  const Recording recording = cupti.take();
  cupti.record(Recorded::nothing);
  std::vector<RecordedCall> calls;
  try {
    calls = recorded_calls(recording, windows, what == Recorded::everything);
  } catch (const Error& error) {
    throw TrialEnd{Status::cannot_measure, error.what()};
  }
  for (const RecordedCall& call : calls)
    if (!call.failed_launch.empty()) throw TrialEnd{Status::failed, fmt::format("a launch inside the call failed, and the call went on: {}", call.failed_launch)};
  for (const RecordedCall& call : calls)
    if (call.outlives_stream)
      throw TrialEnd{Status::wrong, "the call left work running that its stream does not wait for: whoever reads the output next may read it too early"};
  return calls;
}

void GpuMeter::device_time(const Request& request, Block& block) {
  for (int i = 0; i < kWarmUpCalls; ++i) whole_call_ns();
  ClockWatch clocks(device_.nvml());
  Pace pace(request);
  std::vector<double> samples;
  try {
    while (pace.goes_on(static_cast<std::int64_t>(samples.size()))) {
      const std::int64_t left = request.max_calls - static_cast<std::int64_t>(samples.size());
      for (const RecordedCall& call : recorded(std::min(kBurst, left), Recorded::device)) samples.push_back(busy_ns(call.activities));
      clocks.sample();
      pace.rest();
    }
    block.instrument = Instrument::cupti;
  } catch (const TrialEnd& end) {
    if (end.status != Status::cannot_measure) throw;
    // Without records times can still be had, by another instrument, and are never compared with CUPTI's.
    samples.clear();
    std::int64_t count = 0;
    const std::optional<double> by_graph = graph_ns(request, count);
    block.instrument = by_graph ? Instrument::graph : Instrument::events;
    block.device_ns = by_graph ? by_graph : block.span_ns;
    block.calls = count;
    clocks.report(block);
    return;
  }
  block.calls = static_cast<std::int64_t>(samples.size());
  block.device_ns = median(samples);
  block.drift = thirds_ratio(samples);
  clocks.report(block);
}

void GpuMeter::account(const Request&, MeasurementRecord& record) {
  for (int i = 0; i < kWarmUpCalls; ++i) whole_call_ns();
  for (RecordedCall& call : recorded(kAccountedCalls, Recorded::everything)) {
    peak_bytes_ = std::max(peak_bytes_.value_or(0), call.peak_allocated_bytes);
    kept_bytes_ = std::min(kept_bytes_.value_or(call.kept_bytes), call.kept_bytes);  // what every call keeps grows
    record.calls.push_back(std::move(call.activities));
  }
  record.counted = true;
  record.capturable = capture_into(nullptr);
}

void GpuMeter::add_memory(Memory& memory) const {
  if (!peak_bytes_) return;
  memory.peak_bytes = memory.peak_bytes.value_or(0) + *peak_bytes_;
  memory.growth_bytes = std::max<std::int64_t>(*kept_bytes_, 0);
  memory.source = "cupti";
}

// Captures one call; whether that worked. With `graph` the caller owns what is put there.
bool GpuMeter::capture_into(cudaGraph_t* graph) {
  const cudaStream_t stream = device_.cuda_stream();
  cudaGraph_t captured = nullptr;
  calls_.prepare();
  device_.wait();
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
  bool able = true;
  try {
    calls_.make(nullptr);
  } catch (const TrialEnd&) {
    able = false;
  }
  able = cudaStreamEndCapture(stream, &captured) == cudaSuccess && captured && able;
  cudaGetLastError();  // a broken capture is an answer, not a fault
  if (captured && !(graph && able)) cudaGraphDestroy(captured);
  else if (graph) *graph = captured;
  calls_.prepare();
  calls_.make(nullptr);  // the output of a capture was never written
  device_.wait();
  return able;
}

// The median time of a graph of one call, by events around it; nothing when the call cannot be captured.
std::optional<double> GpuMeter::graph_ns(const Request& request, std::int64_t& count) {
  cudaGraph_t captured = nullptr;
  if (!capture_into(&captured)) return std::nullopt;
  const Handle<cudaGraph_t, [](cudaGraph_t each) { cudaGraphDestroy(each); }> graph(captured);
  cudaGraphExec_t instance = nullptr;
  check_cuda(cudaGraphInstantiate(&instance, graph.get(), 0), "making a graph of the call");
  const Handle<cudaGraphExec_t, [](cudaGraphExec_t each) { cudaGraphExecDestroy(each); }> replay(instance);
  const cudaStream_t stream = device_.cuda_stream();
  Pace pace(request);
  std::vector<double> samples;
  while (pace.goes_on(static_cast<std::int64_t>(samples.size()))) {
    calls_.prepare();
    hold_.take(stream, kHoldPatienceNs);
    check_cuda(cudaEventRecord(before_.get(), stream), "recording an event");
    check_cuda(cudaGraphLaunch(replay.get(), stream), "replaying the call");
    check_cuda(cudaEventRecord(after_.get(), stream), "recording an event");
    hold_.let_go();
    device_.wait();
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, before_.get(), after_.get()), "reading an event");
    samples.push_back(static_cast<double>(milliseconds) * 1e6);
    pace.rest();
  }
  count = static_cast<std::int64_t>(samples.size());
  return median(samples);
}

}  // namespace attn
