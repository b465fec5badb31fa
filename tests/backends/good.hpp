#pragma once
// The attention that every misbehaving backend of this folder does right but for one thing: a plain loop in double that knows every argument.
//
// A misbehaving backend derives from Good, changes the problem `p_`, a tensor's view or one of the steps below, and registers itself. Its first lines say
// what it does and what must come of it; run.py reads them (its head says how):
//
//   // The softcap is accepted and ignored.
//   // expect: suite=softcap status=wrong reason="softcap ignored"
//   #include "good.hpp"
//
//   struct Mutant : attn::Good {
//     using Good::Good;
//     void run(const attn_call& call) {
//       p_.softcap = 0;
//       Good::run(call);
//     }
//   };
//   ATTN_BACKENDS(Mutant)

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "abi/attn_dtype.hpp"
#include "abi/attn_kernel.hpp"

namespace attn {

// (batch, heads, seq, head_dim) in any strides, counted in elements; ragged; or in pages.
struct View {
  void* data = nullptr;
  std::int32_t dtype = ATTN_FP32;
  std::int64_t strides[4] = {};
  const DLTensor* starts = nullptr;  // ragged: where each sequence begins
  const DLTensor* pages = nullptr;   // strides[0] is from page to page
  std::int64_t page_size = 0, tokens = 0;

  View() = default;
  View(const DLTensor& tensor, std::int32_t type) : data(static_cast<char*>(tensor.data) + tensor.byte_offset), dtype(type) {
    if (tensor.ndim == 4) std::copy_n(tensor.strides, 4, strides);
    else strides[1] = tensor.strides[1], strides[2] = tensor.strides[0], strides[3] = tensor.strides[2], tokens = tensor.shape[0];
  }
  View(const DLTensor& tensor, std::int32_t type, const DLTensor* row_starts, const DLTensor* page_table, std::int64_t keys_per_page) : View(tensor, type) {
    if (tensor.ndim == 3) starts = row_starts;
    if (keys_per_page > 0) pages = page_table, page_size = keys_per_page;
  }
  static const std::int32_t* ints(const DLTensor* tensor) {
    return reinterpret_cast<const std::int32_t*>(static_cast<const char*>(tensor->data) + tensor->byte_offset);
  }
  // Whoever ignores lengths finds the last page and the last token again and again, and not what lies behind the tables and tensors.
  std::int64_t row(std::int64_t b, std::int64_t s) const {
    if (pages) return ints(pages)[b * pages->strides[0] + std::min(s / page_size, pages->shape[1] - 1)] * strides[0] + s % page_size * strides[2];
    return starts ? std::clamp<std::int64_t>(ints(starts)[b] + s, 0, std::max<std::int64_t>(tokens - 1, 0)) * strides[2] : b * strides[0] + s * strides[2];
  }
  std::int64_t rows(std::int64_t b, std::int64_t padded) const { return starts ? ints(starts)[b + 1] - ints(starts)[b] : padded; }
  std::int64_t index(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const { return row(b, s) + h * strides[1] + d * strides[3]; }
  double get(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const { return load_element(data, index(b, h, s, d), dtype); }
  void set(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d, double value) const {
    store_element(data, index(b, h, s, d), dtype, static_cast<float>(value));
  }
};

class Good {
 public:
  static constexpr std::uint64_t kCan = (ATTN_CAN_LSE - 1) & ~(ATTN_CAN_BACKWARD | ATTN_CAN_DROPOUT);
  static constexpr BackendInfo info{.name = "mutant", .can = kCan, .flags = ATTN_FLAG_REPORTS_OPS, .version = "1"};

  static Support supports(const attn_problem&, const attn_device_facts&) { return {}; }
  Good(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts&, const Options&)
      : p_(problem), t_(tensors), q_(*t_.q, p_.dtype, t_.starts_q, nullptr, 0), k_(*t_.k, p_.dtype_kv, t_.starts_kv, t_.page_table, p_.page_size),
        v_(*t_.v, p_.dtype_kv, t_.starts_kv, t_.page_table, p_.page_size), o_(*t_.o, p_.dtype, t_.starts_q, nullptr, 0) {}
  virtual ~Good() = default;

  void run(const attn_call& call) {
    const Op op(call, ATTN_OP_KERNEL, "flash_fwd_cpu");
    attend();
  }

 protected:
  void attend() {
    for (std::int64_t b = 0; b < p_.batch; ++b)
      for (std::int64_t h = 0; h < p_.heads; ++h)
        for (std::int64_t i = 0; i < o_.rows(b, p_.seq_q); ++i) attend_row(b, h, i);
  }

  // The steps that a misbehaving backend may get wrong.
  virtual std::int64_t kv_head(std::int64_t h) const { return h / (p_.heads / p_.heads_kv); }
  virtual std::int64_t queries(std::int64_t b) const { return t_.lengths_q ? ints(t_.lengths_q)[b] : p_.seq_q; }
  virtual std::int64_t keys(std::int64_t b) const { return t_.lengths_kv ? ints(t_.lengths_kv)[b] : p_.seq_kv; }
  // Whether row i may see key j by causality, window and lengths; a mask tensor may hide more.
  virtual bool sees(std::int64_t b, std::int64_t, std::int64_t i, std::int64_t j) const {
    const std::int64_t own = i + offset(b);
    if (i >= queries(b) || j >= keys(b)) return false;
    if (p_.mask_kind == ATTN_MASK_CAUSAL && j > own) return false;
    return (p_.window_left < 0 || j >= own - p_.window_left) && (p_.window_right < 0 || j <= own + p_.window_right);
  }
  // What the mask tensor adds to a score; -inf hides the key.
  virtual double mask(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    if (!t_.mask) return 0;
    const View view(*t_.mask, p_.dtype);
    if (p_.needs & ATTN_CAN_MASK_BOOL) return static_cast<const std::uint8_t*>(view.data)[view.index(b, h, i, j)] ? 0 : kHidden;
    return view.get(b, h, i, j);
  }
  // Every intermediate number passes through here.
  virtual double rounded(double value) const { return value; }
  virtual void write(std::int64_t b, std::int64_t h, std::int64_t i, const std::vector<double>& row) const {
    for (std::int64_t d = 0; d < p_.head_dim_v; ++d) o_.set(b, h, i, d, row[static_cast<std::size_t>(d)]);
  }

  // Position of row 0 on the keys' axis.
  std::int64_t offset(std::int64_t b) const { return p_.alignment == ATTN_BOTTOM_RIGHT ? keys(b) - queries(b) : 0; }
  static const std::int32_t* ints(const DLTensor* tensor) { return View::ints(tensor); }

  double score(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    double s = 0;
    for (std::int64_t d = 0; d < p_.head_dim; ++d) s = rounded(s + q_.get(b, h, i, d) * k_.get(b, kv_head(h), j, d));
    s *= p_.scale;
    if (p_.softcap != 0) s = p_.softcap * std::tanh(s / p_.softcap);
    if (t_.alibi) s -= static_cast<double>(static_cast<const float*>(t_.alibi->data)[h]) * static_cast<double>(std::abs(i + offset(b) - j));
    return rounded(s + mask(b, h, i, j));
  }

  void attend_row(std::int64_t b, std::int64_t h, std::int64_t i) {
    std::vector<double> row(static_cast<std::size_t>(p_.head_dim_v));
    scores_.assign(static_cast<std::size_t>(p_.seq_kv), kHidden);
    double most = kHidden, sum = 0;
    for (std::int64_t j = 0; j < p_.seq_kv; ++j)
      if (sees(b, h, i, j)) most = std::max(most, scores_[static_cast<std::size_t>(j)] = score(b, h, i, j));
    if (most == kHidden) return dead_row(b, h, i, row);
    for (std::int64_t j = 0; j < p_.seq_kv; ++j) {
      const double weight = rounded(std::exp(scores_[static_cast<std::size_t>(j)] - most));
      sum = rounded(sum + weight);
      add(row, b, h, j, weight);
    }
    for (double& value : row) value = rounded(value / sum);
    write(b, h, i, row);
  }

  // row += weight * v[j]
  virtual void add(std::vector<double>& row, std::int64_t b, std::int64_t h, std::int64_t j, double weight) const {
    if (weight == 0) return;  // a key that is not seen is not read: padding may hold anything
    for (std::int64_t d = 0; d < p_.head_dim_v; ++d) {
      double& value = row[static_cast<std::size_t>(d)];
      value = rounded(value + weight * v_.get(b, kv_head(h), j, d));
    }
  }

  // A row that sees no key, by the case's policy; padding rows are 0.
  virtual void dead_row(std::int64_t b, std::int64_t h, std::int64_t i, std::vector<double>& row) const {
    if (i < queries(b) && p_.dead_rows == ATTN_DEAD_NAN) row.assign(row.size(), std::numeric_limits<double>::quiet_NaN());
    if (i < queries(b) && p_.dead_rows == ATTN_DEAD_MEAN)
      for (std::int64_t j = 0; j < keys(b); ++j) add(row, b, h, j, 1.0 / static_cast<double>(keys(b)));
    write(b, h, i, row);
  }

  static constexpr double kHidden = -std::numeric_limits<double>::infinity();
  attn_problem p_;
  attn_tensors t_;
  View q_, k_, v_, o_;

 private:
  std::vector<double> scores_;
};

}  // namespace attn
