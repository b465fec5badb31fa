// Records two calls of made-up work on this card, as the engine records a backend's, and prints them in the form of tests/unit/gpu/recordings/*.json:
//
//   record_calls chain|device_only|side|sync|graph > tests/unit/gpu/recordings/CARD_NAME.json
//
//   chain        a kernel, a copy, an empty copy, a kernel, in memory taken and given back
//   device_only  the same without the host's calls
//   side         the same, and another thread launches on another stream, which nobody waits for
//   sync         the same, and the call waits for its stream
//   graph        two kernels and a memset, replayed

#include <cstdio>
#include <string>
#include <thread>

#include "base/json.hpp"
#include "gpu/call_windows.hpp"
#include "gpu/cupti.hpp"
#include "gpu/launch.hpp"

extern "C" __global__ void gemm_like(float* x, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) x[i] = x[i] * 1.5f + 1.0f;
}
extern "C" __global__ void softmax_like(float* x, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) x[i] = expf(x[i]);
}
extern "C" __global__ void side_work(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

namespace attn {

struct Example {
  bool with_api = false;
  std::vector<CallWindow> windows;
  Recording recording;
  std::vector<RecordedCall> calls;
  static void fields(auto& self, auto&& visit) {
    visit("with_api", self.with_api);
    visit("windows", self.windows);
    visit("recording", self.recording);
    visit("calls", self.calls);
  }
};

namespace {

class Work {
 public:
  explicit Work(const std::string& kind) : kind_(kind) {
    check_cuda(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "capture");
    gemm_like<<<2, 64, 0, stream_.get()>>>(x_, 1024);
    softmax_like<<<3, 64, 0, stream_.get()>>>(x_, 1024);
    check_cuda(cudaMemsetAsync(memory_.get(), 0, 256, stream_.get()), "memset");
    cudaGraph_t graph = nullptr;
    check_cuda(cudaStreamEndCapture(stream_.get(), &graph), "end of capture");
    check_cuda(cudaGraphInstantiate(&replay_, graph, 0), "instantiate");
    cudaGraphDestroy(graph);
    side_work<<<1, 1, 0, side_.get()>>>(100);
    check_cuda(cudaDeviceSynchronize(), "warm up");
  }
  ~Work() { cudaGraphExecDestroy(replay_); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  cudaStream_t stream() const { return stream_.get(); }
  void prepare() {
    flush_.enqueue(stream_.get());
    enqueue_fill(stream_.get(), memory_.get(), 0xffffffffu, 4, 1000);
  }
  void known() {
    enqueue_marker(stream_.get(), 1);
    check_cuda(cudaMemcpyAsync(x_, memory_.get(), 4096, cudaMemcpyDeviceToDevice, stream_.get()), "copy");
    check_cuda(cudaMemsetAsync(memory_.get(), 0, 64, stream_.get()), "memset");
    check_cuda(cudaDeviceSynchronize(), "known work");
  }
  void call() {
    if (kind_ == "graph") return check_cuda(cudaGraphLaunch(replay_, stream_.get()), "graph");
    void* scratch = nullptr;
    check_cuda(cudaMallocAsync(&scratch, 1 << 20, stream_.get()), "scratch");
    gemm_like<<<1, 256, 0, stream_.get()>>>(x_, 1 << 14);
    check_cuda(cudaMemcpyAsync(scratch, x_, 8192, cudaMemcpyDeviceToDevice, stream_.get()), "copy");
    check_cuda(cudaMemcpyAsync(scratch, x_, 0, cudaMemcpyDeviceToDevice, stream_.get()), "empty copy");
    softmax_like<<<1, 256, 0, stream_.get()>>>(x_, 1 << 14);
    check_cuda(cudaFreeAsync(scratch, stream_.get()), "free");
    if (kind_ == "side") std::thread([&] { side_work<<<1, 1, 0, side_.get()>>>(2'000'000); }).join();
    if (kind_ == "sync") check_cuda(cudaStreamSynchronize(stream_.get()), "synchronise");
  }

 private:
  std::string kind_;
  Stream stream_ = make_stream(), side_ = make_stream();
  DeviceMemory floats_ = allocate_device(1 << 20), memory_ = allocate_device(1 << 20);
  float* x_ = static_cast<float*>(floats_.get());
  L2Flush flush_{100 << 20};
  cudaGraphExec_t replay_ = nullptr;
};

void record(const std::string& kind) {
  check_cuda(cudaSetDevice(0), "choosing the card");
  Work work(kind);
  Cupti cupti("", {.run = [&] { work.known(); }, .kernels = 1, .memcpys = 1, .memsets = 1});
  Example example;
  example.with_api = kind != "device_only";
  cupti.take();
  cupti.record(example.with_api ? Recorded::everything : Recorded::device);
  for (int call = 0; call < 2; ++call) {
    work.prepare();
    enqueue_marker(work.stream(), 2 * call + 1);
    check_cuda(cudaDeviceSynchronize(), "draining");
    CallWindow window{cupti.now_ns(), 0};
    work.call();
    window.end_ns = cupti.now_ns();
    example.windows.push_back(window);
    enqueue_marker(work.stream(), 2 * call + 2);
    check_cuda(cudaDeviceSynchronize(), "draining");
  }
  example.recording = cupti.take();
  cupti.record(Recorded::nothing);
  example.calls = recorded_calls(example.recording, example.windows, example.with_api);
  std::printf("%s\n", to_json(example).dump(1).c_str());
}

}  // namespace
}  // namespace attn

int main(int count, char** words) {
  try {
    attn::record(count > 1 ? words[1] : "chain");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "record_calls: %s\n", error.what());
    return 1;
  }
}
