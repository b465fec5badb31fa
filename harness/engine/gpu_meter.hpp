#pragma once
// Measures calls on a GPU: host time and span while nothing listens, then device time and accounting from CUPTI's records.

#include "engine/gpu_clock_watch.hpp"
#include "engine/gpu_device.hpp"
#include "engine/meter.hpp"
#include "gpu/call_windows.hpp"

namespace attn {

class GpuMeter final : public Meter {
 public:
  GpuMeter(GpuDevice& device, Calls& calls) : device_(device), calls_(calls) {}

  // host_ns: the median time of a call to come back, of several in a row. span_ns: by a pair of events, with the stream held while the call is enqueued, so that
  // the host's pace is not in it; a call that waits for the device itself is timed without the hold. Throws Error once CUPTI was attached: it inflates host times.
  void bare(const Request& request, Block& block) override;
  // The union of a call's busy intervals, by CUPTI. Where CUPTI is not to be had: replays of a graph of the call, else span_ns again; the instrument says so.
  void device_time(const Request& request, Block& block) override;
  void account(const Request& request, MeasurementRecord& record) override;
  void add_memory(Memory& memory) const override;  // of the accounted calls

 private:
  double whole_call_ns();
  double warm_up();
  template <class Body>
  void while_held(bool held, Body&& body);
  template <class Body, class Meanwhile>
  double span_of(bool held, Body&& body, Meanwhile&& meanwhile);
  std::vector<double> host_times(bool held, double call_ns);
  std::vector<RecordedCall> recorded(std::int64_t count, Recorded what, ClockWatch* clocks);
  bool capture_into(cudaGraph_t* graph);
  std::vector<double> graph_times(const Request& request);

  GpuDevice& device_;
  Calls& calls_;
  Event before_ = make_event(), after_ = make_event();
  StreamHold hold_;
  std::optional<std::int64_t> peak_bytes_, growth_bytes_;  // of the calls that were accounted for
  const char* memory_source_ = "cupti";
};

}  // namespace attn
