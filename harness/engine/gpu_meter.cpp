#include "engine/gpu_meter.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "engine/clock.hpp"
#include "engine/gpu_clock_watch.hpp"
#include "engine/noted_memory.hpp"
#include "stats/drift.hpp"
#include "stats/summary.hpp"

namespace attn {
namespace {

constexpr std::int64_t kHoldPatienceNs = 200'000'000;   // a call that takes longer to enqueue, or that waits for the device, is timed without the hold
constexpr std::int64_t kBurst = 20;                     // calls recorded at a time, at most
constexpr std::int64_t kBurstNs = 50'000'000;           // of work, after which the card rests as long: heat is the largest error of all (DESIGN section 9)
constexpr std::int64_t kLongestRestNs = 500'000'000;
constexpr std::int64_t kAccountedCalls = 5;
constexpr int kLeastWarmUpCalls = 2, kMostWarmUpCalls = 10;  // a caching allocator that serves several sizes settles after some calls

// Decides when enough calls were timed and lets the card rest in between.
class Pace {
 public:
  explicit Pace(const Request& request) : request_(request), start_(now_ns()), burst_start_(start_) {}

  bool goes_on(std::size_t calls) const {
    const std::int64_t spent = now_ns() - start_, count = static_cast<std::int64_t>(calls);
    if (count >= request_.max_calls || (count >= request_.min_calls && spent >= request_.timing_ns)) return false;
    return count < 3 || spent < 4 * std::max<std::int64_t>(request_.timing_ns, 1'000'000'000);  // calls so slow that fewer must do
  }
  // How many calls of `call_ns` make a burst, of those that are still wanted.
  std::int64_t burst(double call_ns, std::size_t calls) const {
    const auto fitting = static_cast<std::int64_t>(static_cast<double>(kBurstNs) / std::max(call_ns, 1.0));
    return std::clamp<std::int64_t>(fitting, 1, std::min(kBurst, request_.max_calls - static_cast<std::int64_t>(calls)));
  }
  void rest() {
    const std::int64_t worked = now_ns() - burst_start_;
    if (worked < kBurstNs) return;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(worked, kLongestRestNs)));
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

// Calls until what is made once has been made; returns how long the last one took.
double GpuMeter::warm_up() {
  double call_ns = whole_call_ns();  // may load and compile
  const std::int64_t start = now_ns();
  for (int made = 1; made < kLeastWarmUpCalls || (made < kMostWarmUpCalls && now_ns() - start < kBurstNs); ++made) call_ns = whole_call_ns();
  return call_ns;
}

// Lets the stream go whatever happens to what is enqueued meanwhile.
template <class Body>
void GpuMeter::while_held(bool held, Body&& body) {
  if (held) hold_.take(device_.cuda_stream(), kHoldPatienceNs);
  try {
    body();
  } catch (...) {
    hold_.let_go();
    throw;
  }
  hold_.let_go();
}

// Between two events, with nothing but `body` enqueued between them. `meanwhile` is called while the device works.
template <class Body, class Meanwhile>
double GpuMeter::span_of(bool held, Body&& body, Meanwhile&& meanwhile) {
  const cudaStream_t stream = device_.cuda_stream();
  calls_.prepare();
  while_held(held, [&] {
    check_cuda(cudaEventRecord(before_.get(), stream), "recording an event");
    body();
    check_cuda(cudaEventRecord(after_.get(), stream), "recording an event");
  });
  meanwhile();
  device_.wait();
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, before_.get(), after_.get()), "reading an event");
  return static_cast<double>(milliseconds) * 1e6;
}

// Several calls in a row, as a model makes them; the first of each row finds the host's caches cold after the wait and does not count.
std::vector<double> GpuMeter::host_times(bool held, double call_ns) {
  constexpr int kInARow = 5, kMostRows = 5;
  constexpr double kMostNs = 1e9;
  const int rows = std::clamp(static_cast<int>(kMostNs / (kInARow * std::max(call_ns, 1.0))), 2, kMostRows);
  std::vector<double> times;
  for (int row = 0; row < rows; ++row) {
    calls_.prepare();
    while_held(held, [&] {
      calls_.make(nullptr);
      for (int i = 1; i < kInARow; ++i) times.push_back(calls_.make(nullptr));
    });
    device_.wait();
  }
  return times;
}

void GpuMeter::bare(const Request& request, Block& block) {
  if (device_.cupti_asked()) throw Error("host times are not measured in a worker that CUPTI was attached to", Fault::internal);
  block.first_ns = whole_call_ns();
  calls_.check_damage();
  block.second_ns = whole_call_ns();
  if (!request.timing) return;
  block.instrument = Instrument::events;
  // A call that waits for the device would time our own patience.
  span_of(true, [&] { calls_.make(nullptr); }, [] {});
  const bool held = !hold_.ran_out();
  block.host_ns = median(host_times(held, *block.second_ns));
  ClockWatch clocks(device_.nvml());
  Pace pace(request);
  std::vector<double> spans;
  while (pace.goes_on(spans.size())) {
    spans.push_back(span_of(held, [&] { calls_.make(nullptr); }, [&] {
      if (spans.size() % kBurst == 0) clocks.sample();
    }));
    pace.rest();
  }
  block.span_ns = median(spans);
  clocks.report(block);
}

// `count` calls, each on a drained device, as CUPTI saw them. Throws TrialEnd{cannot_measure} when CUPTI fails or its records cannot be believed.
std::vector<RecordedCall> GpuMeter::recorded(std::int64_t count, Recorded what, ClockWatch* clocks) {
  Cupti& cupti = device_.cupti();
  const cudaStream_t stream = device_.cuda_stream();
  std::vector<CallWindow> windows;
  std::vector<RecordedCall> calls;
  try {
    cupti.take();  // what came before is nobody's
    Recording recording;
    {
      const RecordingScope scope(cupti, what);
      for (std::int64_t i = 0; i < count; ++i) {
        calls_.prepare();
        enqueue_marker(stream, 2 * i + 1);
        device_.wait();
        CallWindow& window = windows.emplace_back();
        window.begin_ns = cupti.now_ns();
        calls_.make(nullptr);
        window.end_ns = cupti.now_ns();
        enqueue_marker(stream, 2 * i + 2);
        if (clocks && i + 1 == count) clocks->sample();
        device_.wait();
      }
      recording = cupti.take();
    }
    calls = recorded_calls(recording, windows, what == Recorded::everything);
  } catch (const CudaError&) {
    throw;  // of the call, or of a lost device
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
  const double call_ns = warm_up();
  ClockWatch clocks(device_.nvml());
  Pace pace(request);
  std::vector<double> samples;
  try {
    while (pace.goes_on(samples.size())) {
      for (const RecordedCall& call : recorded(pace.burst(call_ns, samples.size()), Recorded::device, &clocks)) samples.push_back(busy_ns(call.activities));
      pace.rest();
    }
    block.instrument = Instrument::cupti;
    block.device_ns = median(samples);
  } catch (const TrialEnd& end) {
    if (end.status != Status::cannot_measure) throw;
    // Without records times can still be had, by another instrument, and are never compared with CUPTI's.
    samples = graph_times(request);
    block.instrument = samples.empty() ? Instrument::events : Instrument::graph;
    block.device_ns = samples.empty() ? block.span_ns : median(samples);
  }
  block.calls = static_cast<std::int64_t>(samples.size());
  if (!samples.empty()) block.drift = thirds_ratio(samples);
  clocks.report(block);
}

void GpuMeter::account(const Request&, MeasurementRecord& record) {
  warm_up();
  calls_.prepare();
  const std::optional<NotedMemory> before = noted_memory();
  std::int64_t peak = 0, kept = 0;
  for (RecordedCall& call : recorded(kAccountedCalls, Recorded::everything, nullptr)) {
    peak = std::max(peak, call.peak_allocated_bytes);
    if (!record.calls.empty()) kept += call.kept_bytes;  // the first may take what the next gives back
    record.calls.push_back(std::move(call.activities));
  }
  peak_bytes_ = peak;
  growth_bytes_ = std::max<std::int64_t>(0, kept / (kAccountedCalls - 1));
  calls_.prepare();
  if (const std::optional<NotedMemory> after = noted_memory(); before && after) {  // an allocator that takes from the driver in advance
    peak_bytes_ = after->peak_bytes - after->held_bytes;
    growth_bytes_ = std::max(*growth_bytes_, (after->held_bytes - before->held_bytes) / kAccountedCalls);
    memory_source_ = "allocator";
  }
  record.counted = true;
  record.capturable = capture_into(nullptr);
}

void GpuMeter::add_memory(Memory& memory) const {
  if (!peak_bytes_) return;
  memory.peak_bytes = memory.peak_bytes.value_or(0) + *peak_bytes_;
  memory.growth_bytes = growth_bytes_;
  memory.source = memory_source_;
}

// Captures one call; whether that worked. With `graph` the caller owns what is put there.
bool GpuMeter::capture_into(cudaGraph_t* graph) {
  const cudaStream_t stream = device_.cuda_stream();
  cudaGraph_t captured = nullptr;
  calls_.prepare();
  device_.wait();
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
  bool able = true;
  std::exception_ptr fault;
  try {
    calls_.make(nullptr);
  } catch (const TrialEnd&) {
    able = false;
  } catch (const CudaError& error) {  // of the harness's own launches in a capture that the call has broken
    able = false;
    if (error.sticky()) fault = std::current_exception();
  } catch (...) {
    fault = std::current_exception();
  }
  able = cudaStreamEndCapture(stream, &captured) == cudaSuccess && captured && able && !fault;
  cudaGetLastError();  // a broken capture is an answer, not a fault
  if (captured && !(graph && able)) cudaGraphDestroy(captured);
  else if (graph) *graph = captured;
  if (fault) std::rethrow_exception(fault);
  calls_.prepare();
  calls_.make(nullptr);  // the output of a capture was never written
  device_.wait();
  return able;
}

// Times of a graph of one call, by events around it; none when the call cannot be captured.
std::vector<double> GpuMeter::graph_times(const Request& request) {
  cudaGraph_t captured = nullptr;
  if (!capture_into(&captured)) return {};
  const Handle<cudaGraph_t, [](cudaGraph_t each) { cudaGraphDestroy(each); }> graph(captured);
  cudaGraphExec_t instance = nullptr;
  check_cuda(cudaGraphInstantiate(&instance, graph.get(), 0), "making a graph of the call");
  const Handle<cudaGraphExec_t, [](cudaGraphExec_t each) { cudaGraphExecDestroy(each); }> replay(instance);
  const auto replayed = [&] { check_cuda(cudaGraphLaunch(replay.get(), device_.cuda_stream()), "replaying the call"); };
  span_of(true, replayed, [] {});  // the first replay puts the graph on the device
  Pace pace(request);
  std::vector<double> samples;
  while (pace.goes_on(samples.size())) {
    samples.push_back(span_of(true, replayed, [] {}));
    pace.rest();
  }
  return samples;
}

}  // namespace attn
