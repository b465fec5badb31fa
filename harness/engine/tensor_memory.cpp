#include "engine/tensor_memory.hpp"

#include "abi/attn_dtype.hpp"

namespace attn {

TensorMemory::TensorMemory(Device& device, const char* name, std::int32_t dtype, const TensorLayout& layout)
    : storage_(device, name, static_cast<std::size_t>(layout.elements) * element_bytes(dtype)), view_{storage_.data(), dtype, layout.shape, layout.strides, {}} {
  if (!layout.rows) return;
  rows_ = layout.rows();
  row_table_ = GuardedBuffer(device, std::string("the rows of ") + name, rows_.size() * sizeof(std::int64_t));
  device.write(row_table_.data(), rows_.data(), row_table_.bytes());
  view_.rows = {rows_.data(), reinterpret_cast<const std::int64_t*>(row_table_.data())};
}

double TensorMemory::bytes_needed(std::int32_t dtype, const TensorLayout& layout) {
  const double storage = GuardedBuffer::bytes_needed(static_cast<double>(layout.elements) * static_cast<double>(element_bytes(dtype)));
  const double rows = static_cast<double>(layout.shape[0]) * static_cast<double>(layout.shape[2]);
  return layout.rows ? storage + GuardedBuffer::bytes_needed(rows * sizeof(std::int64_t)) : storage;
}

}  // namespace attn
