#pragma once
// Device memory that `open` takes: by the allocator that the worker's host notes (noted_memory.hpp), else by CUPTI where it listens already.

#include <optional>

#include "engine/gpu_device.hpp"
#include "engine/open_watch.hpp"

namespace attn {

class GpuOpenWatch final : public OpenWatch {
 public:
  // `cupti` null: nothing listens.
  GpuOpenWatch(GpuDevice& device, Cupti* cupti);
  OpenPeak peak() override;  // "allocator" or "cupti"

 private:
  GpuDevice& device_;
  Cupti* cupti_;
  std::optional<RecordingScope> scope_;
};

}  // namespace attn
