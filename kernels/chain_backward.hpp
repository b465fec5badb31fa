#pragma once
// The backward pass of chain.hpp: from the probabilities P, which the forward pass of the same call has left, or which a call of the backward pass alone has
// made again from q and k (the workspace is not kept between calls), to dq, dk and dv. In FlashAttention-2's notation (Dao 2023, arXiv 2307.08691):
//
//   operation                                       what it does
//   [cpu_cast_dout, cpu_copy_dout]                  as for q, k, v
//   cpu_gemm_dv                                     dV = P^T dO, summed over the query heads of a group; P after dropout
//   cpu_gemm_dp                                     dP = dO V^T
//   [cpu_dropout_backward]                          dP of dropped weights is 0, the others are divided by 1 - p
//   cpu_softmax_backward                            dS = P (dP - D), D = rowsum(P dP), which is rowsum(dO O); 0 in a dead row of the policy mean
//   [cpu_softcap_backward]                          dS *= 1 - (S / cap)^2, S the capped scores
//   cpu_scale_backward                              dS *= scale (naive)
//   cpu_gemm_dq cpu_gemm_dk                         dQ = dS K, dK = dS^T Q
//   cpu_scale_dq cpu_scale_dk                       both times sqrt(scale) (math)
//   [cpu_cast_dq, cpu_cast_dk, cpu_cast_dv, or cpu_copy_]   as for o
//
// Keys that no query sees and padding get exactly 0. A dead row of the policy nan has P = NaN, which spoils dk and dv of its sequence as it does in autograd.

#include "chain_operations.hpp"
#include "dropout.hpp"
#include "gradient_tensors.hpp"
#include "simd.hpp"

namespace attn {

// dP of a row becomes dS = P (dP - rowsum(P dP)).
struct SoftmaxBackwardRow {
  template <int Lanes>
  ATTN_INLINE static void run(const float* weights, float* row, std::int64_t count) {
    const std::int64_t whole = count / Lanes * Lanes;
    Vec<Lanes> sums{};
    for (std::int64_t j = 0; j < whole; j += Lanes) sums += load<Lanes>(weights + j) * load<Lanes>(row + j);
    float delta = sum<Lanes>(sums);
    for (std::int64_t j = whole; j < count; ++j) delta += weights[j] * row[j];
    for (std::int64_t j = 0; j < count; ++j) row[j] = weights[j] * (row[j] - delta);
  }
};

class Backward {
 public:
  // What the backward pass needs beside the forward pass's workspace; all null without one.
  struct Buffers {
    Buffers(Arena& arena, const attn_problem& p) {
      if (p.pass == ATTN_FORWARD) return;
      const bool strided = p.needs & ATTN_CAN_STRIDED, narrow = strided || p.dtype != ATTN_FP32, narrow_kv = strided || p.dtype_kv != ATTN_FP32;
      const DenseRoom dense{arena, p.batch};
      dout = dense(true, p.heads, p.seq_q, p.head_dim_v);  // its strides are not known yet
      dq = dense(narrow, p.heads, p.seq_q, p.head_dim);
      dk = dense(narrow_kv, p.heads_kv, p.seq_kv, p.head_dim);
      dv = dense(narrow_kv, p.heads_kv, p.seq_kv, p.head_dim_v);
      dscores = dense(true, p.heads, p.seq_q, p.seq_kv);
      dropped = dense(p.dropout > 0, p.heads, p.seq_q, p.seq_kv);
      capped = dense(p.softcap != 0, p.heads, p.seq_q, p.seq_kv);
      dead = arena.take<std::uint8_t>({p.batch, p.heads, p.seq_q});
    }
    float *dout = nullptr, *dq = nullptr, *dk = nullptr, *dv = nullptr;  // dense fp32 copies, where they may be needed
    float* dscores = nullptr;                                            // (B, H, Sq, Skv), as the next two: dP, then dS
    float *dropped = nullptr, *capped = nullptr;                         // P after dropout; scores after the softcap
    std::uint8_t* dead = nullptr;                                        // (B, H, Sq)
  };

  // What the forward pass leaves: operands as BLAS reads them and the probabilities before dropout.
  struct Forward {
    Strided q, k, v;
    const float* probabilities;  // (B, H, Sq, Skv)
    bool operands_scaled;        // q and k carry sqrt(|scale|), q its sign too
  };

  Backward(const attn_problem& problem, const attn_tensors& tensors, ChainOperations& operations, const Dropout& dropout)
      : p_(problem), operations_(operations), dropout_(dropout), gradients_(problem, tensors) {}

  void run(const attn_call& call, const Forward& forward, const Buffers& buffers) {
    const Side queries = operations_.queries(), keys = operations_.keys();
    const Strided dout = operations_.readable(call, {"cpu_cast_dout", "cpu_copy_dout"}, gradients_.dout, queries, p_.head_dim_v, buffers.dout);
    const Strided dq = operations_.writable(gradients_.dq, queries, p_.head_dim, buffers.dq);
    const Strided dk = operations_.writable(gradients_.dk, keys, p_.head_dim, buffers.dk);
    const Strided dv = operations_.writable(gradients_.dv, keys, p_.head_dim_v, buffers.dv);
    const auto each_row = [&](const char* name, const auto& body) { operations_.each_row(call, name, buffers.dscores, body); };
    operations_.product_by_keys(call, "cpu_gemm_dv", dropout_ ? buffers.dropped : forward.probabilities, dout, p_.head_dim_v, dv);
    operations_.product_to_scores(call, "cpu_gemm_dp", dout, forward.v, p_.head_dim_v, buffers.dscores);
    if (dropout_) each_row("cpu_dropout_backward", [&](const ScoreRow& row) { dropout_(row.number, row.data, row.data, p_.seq_kv); });
    each_row("cpu_softmax_backward", [&](const ScoreRow& row) {
      if (p_.dead_rows == ATTN_DEAD_MEAN && buffers.dead[row.number]) std::fill_n(row.data, p_.seq_kv, 0.0f);
      else softmax_backward_(forward.probabilities + row.number * p_.seq_kv, row.data, p_.seq_kv);
    });
    if (p_.softcap != 0) {
      const auto inverse = static_cast<float>(1.0 / p_.softcap);
      each_row("cpu_softcap_backward", [&](const ScoreRow& row) {
        const float* const capped = buffers.capped + row.number * p_.seq_kv;
        for (std::int64_t j = 0; j < p_.seq_kv; ++j) {
          const float t = capped[j] * inverse;
          row.data[j] *= (1.0f - t) * (1.0f + t);
        }
      });
    }
    if (!forward.operands_scaled) operations_.scale_scores(call, "cpu_scale_backward", buffers.dscores);
    operations_.product_by_rows(call, "cpu_gemm_dq", buffers.dscores, forward.k, p_.head_dim, dq);
    operations_.product_by_keys(call, "cpu_gemm_dk", buffers.dscores, forward.q, p_.head_dim, dk);
    if (forward.operands_scaled) {
      operations_.scale_by_root(call, "cpu_scale_dq", dq, dq, queries);
      operations_.scale_by_root(call, "cpu_scale_dk", dk, dk, keys);
    }
    operations_.write_back(call, {"cpu_cast_dq", "cpu_copy_dq"}, dq, gradients_.dq, queries, p_.head_dim);
    operations_.write_back(call, {"cpu_cast_dk", "cpu_copy_dk"}, dk, gradients_.dk, keys, p_.head_dim);
    operations_.write_back(call, {"cpu_cast_dv", "cpu_copy_dv"}, dv, gradients_.dv, keys, p_.head_dim_v);
  }

 private:
  attn_problem p_;
  ChainOperations& operations_;
  const Dropout& dropout_;
  GradientTensors gradients_;
  ForThisCpu<SoftmaxBackwardRow> softmax_backward_;
};

}  // namespace attn
