#pragma once
// good.hpp's attention with dropout and a backward pass: by the definition, in double. A backend that trains wrongly derives from Trained and changes a step.

#include <utility>

#include "good.hpp"

namespace attn {

class Trained : public Good {
 public:
  static constexpr std::uint64_t kCan = Good::kCan | ATTN_CAN_BACKWARD | ATTN_CAN_DROPOUT;
  static constexpr BackendInfo info{.name = "mutant", .can = kCan, .flags = ATTN_FLAG_REPORTS_OPS, .version = "1"};
  using Good::Good;

  static Support supports(const attn_problem& problem, const attn_device_facts&) {
    if (problem.pass != ATTN_FORWARD && problem.needs & (ATTN_CAN_RAGGED | ATTN_CAN_PAGED)) throw Unsupported("gradients of ragged tensors and of pages are not written");
    return {};
  }

  void run(const attn_call& call) {
    ++calls_;
    if (call.pass != ATTN_CALL_BACKWARD) {
      const Op op(call, ATTN_OP_KERNEL, "flash_fwd_cpu");
      each_row([&](std::int64_t b, std::int64_t h, std::int64_t i) {
        row_ = i;
        attend_row(b, h, i);
        if (t_.lse) write_lse(b, h, i);
      });
    }
    if (p_.pass == ATTN_FORWARD || call.pass == ATTN_CALL_FORWARD) return;
    const Op op(call, ATTN_OP_KERNEL, "flash_bwd_cpu");
    goes_back_ = true;
    go_back();
    goes_back_ = false;
  }

 protected:
  // The steps that may be wrong.
  virtual double dropout_factor() const { return 1 / (1 - p_.dropout); }
  virtual std::uint64_t dropout_seed() const { return p_.dropout_seed; }
  virtual double bend(double capped) const { return 1 - capped * capped; }  // the softcap's derivative; `capped` is score / softcap
  virtual double delta(double sum) const { return sum; }
  virtual double gradient_scale() const { return p_.scale; }
  virtual bool counts_for_keys(std::int64_t) const { return true; }         // whether query head h adds to dk and dv
  // After each query head: what it has added to.
  virtual void end_head(std::vector<double>&, std::vector<double>&) const {}
  virtual View dout_view() const { return View(*t_.dout, p_.dtype); }
  // dq += dS K for one row; scores are by key.
  virtual void write_dq(std::int64_t b, std::int64_t h, std::int64_t i, const std::vector<double>& dscores) const {
    const View dq(*t_.dq, p_.dtype);
    for (std::int64_t x = 0; x < p_.head_dim; ++x) {
      double sum = 0;
      for (std::int64_t j = 0; j < keys(b); ++j) sum += dscores[static_cast<std::size_t>(j)] * k_.get(b, kv_head(h), j, x);
      dq.set(b, h, i, x, sum);
    }
  }
  virtual void write_keys(const std::vector<double>& dk, const std::vector<double>& dv) const {
    const View to_k(*t_.dk, p_.dtype_kv), to_v(*t_.dv, p_.dtype_kv);
    for (std::int64_t b = 0; b < p_.batch; ++b)
      for (std::int64_t g = 0; g < p_.heads_kv; ++g)
        for (std::int64_t j = 0; j < p_.seq_kv; ++j) {
          for (std::int64_t x = 0; x < p_.head_dim; ++x) to_k.set(b, g, j, x, dk[at(b, g, j, x, p_.head_dim)]);
          for (std::int64_t x = 0; x < p_.head_dim_v; ++x) to_v.set(b, g, j, x, dv[at(b, g, j, x, p_.head_dim_v)]);
        }
  }

  std::size_t at(std::int64_t b, std::int64_t g, std::int64_t j, std::int64_t x, std::int64_t columns) const {
    return static_cast<std::size_t>(((b * p_.heads_kv + g) * p_.seq_kv + j) * columns + x);
  }

  // By what dropout multiplies the weight of key j in row i. The bits are SplitMix64's.
  double kept(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    if (p_.dropout == 0) return 1;
    std::uint64_t bits = dropout_seed() * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(((b * p_.heads + h) * p_.seq_q + i) * p_.seq_kv + j + 1) * 0xD1342543DE82EF95u;
    for (const std::uint64_t factor : {0xBF58476D1CE4E5B9u, 0x94D049BB133111EBu}) bits = (bits ^ (bits >> 30)) * factor;
    return static_cast<double>((bits ^ (bits >> 31)) >> 11) * 0x1p-53 < p_.dropout ? 0 : dropout_factor();
  }

  void add(std::vector<double>& row, std::int64_t b, std::int64_t h, std::int64_t j, double weight) const override { Good::add(row, b, h, j, weight * kept(b, h, row_, j)); }

  std::int64_t calls_ = 0;
  bool goes_back_ = false;  // in the backward pass

 private:
  template <class Body>
  void each_row(const Body& body) const {
    for (std::int64_t b = 0; b < p_.batch; ++b)
      for (std::int64_t h = 0; h < p_.heads; ++h)
        for (std::int64_t i = 0; i < (o_.starts ? queries(b) : p_.seq_q); ++i) body(b, h, i);
  }

  void write_lse(std::int64_t b, std::int64_t h, std::int64_t i) const {
    double sum = 0, most = kHidden;
    for (const bool summing : {false, true})
      for (std::int64_t j = 0; j < keys(b); ++j) {
        if (!sees(b, h, i, j)) continue;
        const double each = score(b, h, i, j);
        if (summing && most != kHidden) sum += std::exp(each - most);
        else most = std::max(most, each);
      }
    auto* const lse = reinterpret_cast<float*>(static_cast<char*>(t_.lse->data) + t_.lse->byte_offset);
    lse[b * t_.lse->strides[0] + h * t_.lse->strides[1] + i * t_.lse->strides[2]] = static_cast<float>(sum > 0 ? most + std::log(sum) : kHidden);
  }

  void go_back() const {
    std::vector<double> dk(static_cast<std::size_t>(p_.batch * p_.heads_kv * p_.seq_kv * p_.head_dim)), dv(static_cast<std::size_t>(p_.batch * p_.heads_kv * p_.seq_kv * p_.head_dim_v));
    std::int64_t head = 0;
    each_row([&](std::int64_t b, std::int64_t h, std::int64_t i) {
      if (h != std::exchange(head, h)) end_head(dk, dv);
      row_back(b, h, i, dk, dv);
    });
    end_head(dk, dv);
    write_keys(dk, dv);
  }

  void row_back(std::int64_t b, std::int64_t h, std::int64_t i, std::vector<double>& dk, std::vector<double>& dv) const {
    const View dout = dout_view();
    const std::int64_t g = kv_head(h), count = keys(b);
    std::vector<double> weights(static_cast<std::size_t>(count)), dp(weights), bends(weights);
    double most = kHidden, sum = 0, of_row = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      const auto n = static_cast<std::size_t>(j);
      weights[n] = sees(b, h, i, j) ? score(b, h, i, j) : kHidden;
      most = std::max(most, weights[n]);
    }
    const bool dead = most == kHidden, real = i < queries(b), mean = dead && real && p_.dead_rows == ATTN_DEAD_MEAN;
    for (double& weight : weights) sum += weight = dead ? (mean ? 1.0 : 0.0) : std::exp(weight - most);
    for (std::int64_t j = 0; j < count && sum > 0; ++j) {
      const auto n = static_cast<std::size_t>(j);
      weights[n] /= sum;
      for (std::int64_t x = 0; x < p_.head_dim_v; ++x) dp[n] += dout.get(b, h, i, x) * v_.get(b, g, j, x);
      dp[n] *= kept(b, h, i, j);
      of_row += weights[n] * dp[n];
    }
    std::vector<double> dscores(weights.size());
    for (std::int64_t j = 0; j < count && sum > 0; ++j) {
      const auto n = static_cast<std::size_t>(j);
      if (counts_for_keys(h))
        for (std::int64_t x = 0; x < p_.head_dim_v; ++x) dv[at(b, g, j, x, p_.head_dim_v)] += weights[n] * kept(b, h, i, j) * dout.get(b, h, i, x);
      if (dead || weights[n] == 0) continue;
      dscores[n] = weights[n] * (dp[n] - delta(of_row)) * gradient_scale();
      if (p_.softcap != 0) {
        double dot = 0;
        for (std::int64_t x = 0; x < p_.head_dim; ++x) dot += q_.get(b, h, i, x) * k_.get(b, g, j, x);
        dscores[n] *= bend(std::tanh(dot * p_.scale / p_.softcap));
      }
      if (counts_for_keys(h))
        for (std::int64_t x = 0; x < p_.head_dim; ++x) dk[at(b, g, j, x, p_.head_dim)] += dscores[n] * q_.get(b, h, i, x);
    }
    write_dq(b, h, i, dscores);
  }

  std::int64_t row_ = 0;
};

}  // namespace attn
