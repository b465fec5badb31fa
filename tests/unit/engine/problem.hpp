#pragma once
// A case in memory of its own, dense, ragged or paged as it says, its reference, and an output to be judged.

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "engine/inputs.hpp"
#include "engine/numerics.hpp"
#include "engine/tensor_layout.hpp"

namespace attn {

class Problem {
 public:
  explicit Problem(const Case& value, std::uint64_t seed = 1) : c(value) {
    const auto dtype = static_cast<std::int32_t>(c.dtype), dtype_kv = static_cast<std::int32_t>(c.dtype_kv);
    operands.q = of_queries(dtype, c.head_dim);
    operands.k = of_keys(dtype_kv, c.head_dim, c.strides.k);
    operands.v = of_keys(dtype_kv, c.head_dim_v, c.strides.v);
    output = of_queries(dtype, c.head_dim_v);
    if (c.mask == MaskKind::tensor) {
      const auto& full = c.mask_tensor.full;
      operands.mask = view(c.mask_tensor.dtype == MaskDType::boolean ? kBoolByte : dtype,
                           {full[0] ? c.batch : 1, full[1] ? c.heads : 1, full[2] ? c.seq_q : 1, full[3] ? c.seq_kv : 1});
    }
    fill(seed);
  }
  void fill(std::uint64_t seed) {
    fill_inputs(c, seed, operands.q, operands.k, operands.v);
    if (operands.mask) fill_mask(c, seed, operands.mask);
  }

  TensorView view(std::int32_t dtype, std::array<std::int64_t, 4> shape) {
    storage_.emplace_back(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]) * element_bytes(dtype) + 8);
    return {storage_.back().data(), dtype, shape, {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1}};
  }

  // Every element NaN, its row table, where it has one, on the host alone.
  TensorView laid(std::int32_t dtype, const TensorLayout& layout) {
    rows_.push_back(layout.rows ? layout.rows() : std::vector<std::int64_t>{});
    storage_.emplace_back(static_cast<std::size_t>(layout.elements) * element_bytes(dtype) + 8, 0xff);
    return {storage_.back().data(), dtype, layout.shape, layout.strides, {layout.rows ? rows_.back().data() : nullptr, nullptr}};
  }
  TensorView of_queries(std::int32_t dtype, std::int64_t dim) {
    const std::array<std::int64_t, 4> shape{c.batch, c.heads, c.seq_q, dim};
    return c.layout == Layout::thd ? laid(dtype, ragged_layout(shape, c.lengths_q, StrideKind::dense)) : view(dtype, shape);
  }
  TensorView of_keys(std::int32_t dtype, std::int64_t dim, StrideKind kind) { return laid(dtype, key_layout(c, dim, kind)); }

  std::vector<OutputRow> all_rows() const { return sample_rows(c, operands.mask, 0, {.flops = 1e18, .elements = 1e18}); }
  Reading right() const { return {.value = c, .text = {}}; }
  Evaluation right_rows() const { return reference(right(), operands, all_rows()); }

  // Rounded to the output's dtype; rows past lengths_q become 0.
  void write(const Evaluation& evaluation) {
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t h = 0; h < c.heads; ++h)
        for (std::int64_t s = 0; s < c.seq_q; ++s)
          for (std::int64_t x = 0; x < c.head_dim_v && output.has_row(b, s); ++x) output.store(b, h, s, x, 0.0f);
    const std::vector<OutputRow> rows = all_rows();
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::int64_t x = 0; x < c.head_dim_v; ++x)
        output.store(rows[i].batch, rows[i].head, rows[i].row, x,
                     static_cast<float>(evaluation.out[i * static_cast<std::size_t>(c.head_dim_v) + static_cast<std::size_t>(x)]));
  }
  CheckInput check_input() const {
    reference_ = std::make_unique<HostReference>(operands);
    return {.value = &c, .reference = reference_.get(), .mask = operands.mask, .output = output, .lse = {}, .previous = {}, .poison = poison, .seed = 0, .limits = {}};
  }
  NumericsResult check() const { return check_output(check_input()); }
  NumericsResult check(const Evaluation& evaluation) {
    write(evaluation);
    return check();
  }

  // Column 0 of the reference's rows.
  std::vector<double> first_column(const Evaluation& evaluation) const {
    std::vector<double> column;
    for (std::size_t i = 0; i < evaluation.out.size(); i += static_cast<std::size_t>(c.head_dim_v)) column.push_back(evaluation.out[i]);
    return column;
  }
  std::vector<double> first_column() const { return first_column(right_rows()); }

  Case c;
  Operands operands;
  TensorView output;
  std::optional<std::uint32_t> poison;

 private:
  std::deque<std::vector<unsigned char>> storage_;
  std::deque<std::vector<std::int64_t>> rows_;
  mutable std::unique_ptr<HostReference> reference_;
};

// (batch, heads, heads_kv, seq_q, seq_kv, head_dim), CASES.md's order.
inline Case shaped(std::int64_t batch, std::int64_t heads, std::int64_t heads_kv, std::int64_t seq_q, std::int64_t seq_kv, std::int64_t head_dim,
                   DType dtype = DType::fp32) {
  Case c;
  c.batch = batch;
  c.heads = heads;
  c.heads_kv = heads_kv;
  c.seq_q = seq_q;
  c.seq_kv = seq_kv;
  c.head_dim = c.head_dim_v = head_dim;
  c.dtype = c.dtype_kv = dtype;
  return c;
}

inline Case with(Case c, const std::function<void(Case&)>& change) {
  change(c);
  return c;
}

}  // namespace attn
