#pragma once
// What the tests of kernels share: a card or a skip, tensors in any strides on both sides, random cases.

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/gpu_operands.hpp"
#include "engine/tensor_layout.hpp"
#include "gpu/cuda.hpp"
#include "gpu/gpu_facts.hpp"

namespace attn {

// Skipped where there is no card.
class OnCard : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (gpu_count(why) == 0) GTEST_SKIP() << why;
    stream = make_stream();
  }
  void wait() const { check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize"); }
  Stream stream;
};

// Device memory with the bytes of a host's buffer.
class Twin {
 public:
  explicit Twin(const std::vector<std::uint8_t>& bytes) : size_(bytes.size()), memory_(allocate_device(bytes.size())) {
    check_cuda(cudaMemcpy(memory_.get(), bytes.data(), size_, cudaMemcpyHostToDevice), "cudaMemcpy to the device");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  std::uint8_t* data() const { return static_cast<std::uint8_t*>(memory_.get()); }
  std::vector<std::uint8_t> read() const {
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::vector<std::uint8_t> bytes(size_);
    check_cuda(cudaMemcpy(bytes.data(), memory_.get(), size_, cudaMemcpyDeviceToHost), "cudaMemcpy to the host");
    return bytes;
  }

 private:
  std::size_t size_;
  DeviceMemory memory_;
};

// Ways to lay out (batch, heads, seq, dim).
enum class Lay { bhsd, bshd, sliced, transposed, one_head, one_batch };

// A tensor on the host, every byte 0xa5 at first, and its twin's view once made.
struct Laid {
  Laid(std::int32_t dtype, const std::array<std::int64_t, 4>& shape, Lay lay) {
    const auto [b, h, s, d] = shape;
    view = {nullptr, dtype, shape, {h * s * d, s * d, d, 1}};
    if (lay == Lay::bshd) view.strides = {s * h * d, d, h * d, 1};
    if (lay == Lay::sliced) view.strides = {h * (s + 2) * (d + 5), (s + 2) * (d + 5), d + 5, 1};
    if (lay == Lay::transposed) view.strides = {h * s * d, s * d, 1, s};
    if (lay == Lay::one_head) view.strides = {s * d, 0, d, 1};
    if (lay == Lay::one_batch) view.strides = {0, s * d, d, 1};
    bytes.assign(static_cast<std::size_t>(b * h * (s + 2) * (d + 5)) * (dtype == kBoolByte ? 1 : element_bytes(dtype)), 0xa5);
    view.data = bytes.data();
  }
  // As a layout says, its row table too.
  Laid(std::int32_t dtype, const TensorLayout& layout) {
    view = {nullptr, dtype, layout.shape, layout.strides, {}};
    bytes.assign(static_cast<std::size_t>(layout.elements) * element_bytes(dtype) + 1, 0xa5);
    view.data = bytes.data();
    if (!layout.rows) return;
    rows = layout.rows();
    row_table = std::make_shared<DeviceMemory>(allocate_device(rows.size() * sizeof(std::int64_t)));
    check_cuda(cudaMemcpy(row_table->get(), rows.data(), rows.size() * sizeof(std::int64_t), cudaMemcpyHostToDevice), "cudaMemcpy of a row table");
    view.rows = {rows.data(), static_cast<const std::int64_t*>(row_table->get())};
  }
  Laid(const Laid&) = delete;
  Laid(Laid&&) = default;
  TensorView on(const Twin& twin) const {
    TensorView copy = view;
    copy.data = twin.data();
    return copy;
  }
  std::vector<std::int64_t> rows;
  std::shared_ptr<DeviceMemory> row_table;
  std::vector<std::uint8_t> bytes;
  TensorView view;
};

// q, k and v of a case: ragged and paged as it says, else by `lays`.
inline std::vector<Laid> laid_operands(const Case& c, const std::array<Lay, 3>& lays, StrideKind kind = StrideKind::dense) {
  const auto dtype = static_cast<std::int32_t>(c.dtype), dtype_kv = static_cast<std::int32_t>(c.dtype_kv);
  std::vector<Laid> result;
  const std::array<std::int64_t, 4> q{c.batch, c.heads, c.seq_q, c.head_dim};
  if (c.layout == Layout::thd) result.emplace_back(dtype, ragged_layout(q, c.lengths_q, kind));
  else result.emplace_back(dtype, q, lays[0]);
  for (const auto& [dim, lay] : {std::pair{c.head_dim, lays[1]}, {c.head_dim_v, lays[2]}}) {
    const std::array<std::int64_t, 4> shape{c.batch, c.heads_kv, c.seq_kv, dim};
    if (c.page_size > 0) result.emplace_back(dtype_kv, paged_layout(shape, c, kind));
    else if (c.layout == Layout::thd) result.emplace_back(dtype_kv, ragged_layout(shape, c.lengths_kv, kind));
    else result.emplace_back(dtype_kv, shape, lay);
  }
  return result;
}

inline std::array<std::int64_t, 4> mask_shape(const Case& c) {
  const auto& full = c.mask_tensor.full;
  return {full[0] ? c.batch : 1, full[1] ? c.heads : 1, full[2] ? c.seq_q : 1, full[3] ? c.seq_kv : 1};
}
inline std::int32_t mask_dtype(const Case& c) { return c.mask_tensor.dtype == MaskDType::boolean ? kBoolByte : static_cast<std::int32_t>(c.dtype); }

// Small numbers, the same with every library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::int64_t operator()(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(std::int64_t of) { return (*this)(1, of) == 1; }

 private:
  std::mt19937_64 engine_;
};

// Lengths, and rows that follow each other, keys in pages, or both.
inline void scatter(Case& c, Dice& dice) {
  c.lengths_q.clear();
  c.lengths_kv.clear();
  for (std::int64_t b = 0; b < c.batch; ++b) {
    c.lengths_q.push_back(dice.chance(5) ? 0 : dice(0, c.seq_q));
    c.lengths_kv.push_back(dice.chance(5) ? 0 : dice(0, c.seq_kv));
  }
  const std::int64_t how = dice(0, 2);
  if (how != 1) c.layout = Layout::thd;
  if (how == 0) return;
  c.page_size = dice(1, 40);
  c.page_order = PageOrder::shuffled;
}

// A small case with any of the features.
inline Case random_case(Dice& dice) {
  Case c;
  c.batch = dice(1, 3);
  c.heads_kv = dice(1, 3);
  c.heads = c.heads_kv * dice(1, 4);
  c.seq_q = dice.chance(4) ? dice(1, 3) : dice(1, 150);
  c.seq_kv = dice.chance(4) ? dice(1, 3) : dice(1, 300);
  c.head_dim = dice(1, 100);
  c.head_dim_v = dice(1, 150);
  c.dtype = static_cast<DType>(dice(0, 4));
  c.dtype_kv = dice.chance(4) ? static_cast<DType>(dice(0, 4)) : c.dtype;
  c.inputs = dice.chance(2) ? Inputs::normal : static_cast<Inputs>(dice(0, 8));
  c.mask = static_cast<MaskKind>(dice(0, 2));
  c.alignment = static_cast<Alignment>(dice(0, 1));
  if (dice.chance(3)) c.window_left = dice(0, 60);
  if (dice.chance(4)) c.window_right = dice(0, 60);
  if (dice.chance(3)) c.softcap = 2;
  if (dice.chance(4)) c.scale = 0.25;
  if (dice.chance(3)) c.alibi.emplace();
  c.dead_rows = static_cast<DeadRows>(dice(0, 2));
  if (dice.chance(3) || c.inputs == Inputs::poison_padding)
    for (std::int64_t b = 0; b < c.batch; ++b) {
      c.lengths_q.push_back(dice(0, c.seq_q));
      c.lengths_kv.push_back(dice(0, c.seq_kv));
    }
  c.mask_tensor.pattern = static_cast<MaskPattern>(dice(0, 3));
  for (bool& full : c.mask_tensor.full) full = !dice.chance(3);
  c.mask_tensor.dtype = static_cast<MaskDType>(dice(0, 1));
  c.mask_tensor.fill = static_cast<MaskFill>(dice(0, 1));
  return c;
}

}  // namespace attn
