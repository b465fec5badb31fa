#pragma once
// The memory of one tensor on a device: its guarded storage and, of a ragged or paged tensor, its row table.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/guarded_buffer.hpp"
#include "engine/tensor_layout.hpp"
#include "engine/tensor_view.hpp"

namespace attn {

class TensorMemory {
 public:
  // `dtype`: attn_dtype or kBoolByte. Throws OutOfMemory.
  TensorMemory(Device& device, const char* name, std::int32_t dtype, const TensorLayout& layout);

  // Bytes that such a memory takes of the device.
  static double bytes_needed(std::int32_t dtype, const TensorLayout& layout);

  const TensorView& view() const { return view_; }  // of all of it
  std::byte* data() const { return storage_.data(); }
  std::size_t bytes() const { return storage_.bytes(); }
  std::optional<std::string> damage() { return storage_.damage(); }

 private:
  GuardedBuffer storage_, row_table_;
  std::vector<std::int64_t> rows_;
  TensorView view_;
};

}  // namespace attn
