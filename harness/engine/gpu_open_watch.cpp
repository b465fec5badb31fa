#include "engine/gpu_open_watch.hpp"

#include "engine/noted_memory.hpp"
#include "gpu/taken_memory.hpp"

namespace attn {

GpuOpenWatch::GpuOpenWatch(GpuDevice& device, Cupti* cupti) : device_(device), cupti_(cupti) {
  noted_memory().reset();
  if (!cupti_) return;
  try {
    device_.wait();
    cupti_->take();  // what came before is nobody's
    scope_.emplace(*cupti_, Recorded::everything);
  } catch (const CudaError&) {
    throw;
  } catch (const Error&) {
    cupti_ = nullptr;  // the calls' own accounting says what is wrong
  }
}

OpenPeak GpuOpenWatch::peak() {
  std::optional<std::int64_t> taken;
  if (cupti_) {
    device_.wait();
    scope_.reset();
    try {
      taken = peak_taken_bytes(cupti_->take());
    } catch (const Error&) {
    }
  }
  if (const auto& noted = noted_memory(); noted && noted->held_before_bytes) return {noted->peak_bytes - *noted->held_before_bytes, "allocator"};
  return {taken, taken ? "cupti" : ""};
}

}  // namespace attn
