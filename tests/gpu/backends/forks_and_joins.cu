// Computes one half on a second stream, forked and joined by events. That is allowed: both kernels belong to the call, and its time is the union of theirs.
// expect: suite=long status=ok check="row['counts']['kernels'] == {'low': 2, 'high': 2} and row['counts']['launches'] == {'low': 2, 'high': 2}"
// expect: suite=long gates=numerics,kernels,latency status=ok check="times['device_ns'] < 0.8 * sum(each['device_ns'] for each in row['kernels']) and times['span_ns'] > 0.8 * times['device_ns']"
#include "good.cuh"

class Event {
 public:
  Event() { attn::check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags"); }
  ~Event() { cudaEventDestroy(event_); }
  void between(cudaStream_t before, cudaStream_t behind) const {
    attn::check(cudaEventRecord(event_, before), "cudaEventRecord");
    attn::check(cudaStreamWaitEvent(behind, event_, 0), "cudaStreamWaitEvent");
  }

 private:
  cudaEvent_t event_ = nullptr;
};

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    const cudaStream_t stream = attn::stream_of(call);
    const std::int64_t half = a_.elements() / 2;
    fork_.between(stream, side_.get());
    attend(side_.get(), 0, half);
    attend(stream, half, a_.elements());
    join_.between(side_.get(), stream);
  }

 private:
  attn::SideStream side_;
  Event fork_, join_;
};
ATTN_BACKENDS(Mutant)
