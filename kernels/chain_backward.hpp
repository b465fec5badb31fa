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

#include "blas.hpp"
#include "dropout.hpp"
#include "simd.hpp"
#include "threads.hpp"

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
      const auto dense = [&](bool needed, std::int64_t heads, std::int64_t rows, std::int64_t columns) {
        return needed ? arena.take<float>({p.batch, heads, rows, columns}) : nullptr;
      };
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

  Backward(const attn_problem& problem, const attn_tensors& tensors, const Rows& rows, Threads& threads)
      : p_(problem), rows_(rows), threads_(threads), dropout_(problem) {
    if (p_.pass == ATTN_FORWARD) return;
    if (!tensors.dout || !tensors.dq || !tensors.dk || !tensors.dv) throw std::runtime_error("a backward pass needs dout, dq, dk and dv");
    if (p_.page_size > 0) throw Unsupported("keys in pages have no gradient");
    dout_ = Strided::of_queries(*tensors.dout, p_, tensors);
    dq_ = Strided::of_queries(*tensors.dq, p_, tensors);
    dk_ = Strided::of_keys(*tensors.dk, p_, tensors);
    dv_ = Strided::of_keys(*tensors.dv, p_, tensors);
  }

  void run(const attn_call& call, const Forward& forward, const Buffers& buffers) {
    const Strided dout = readable_dout(call, buffers.dout);
    const Strided dq = writable(dq_, p_.heads, p_.seq_q, p_.head_dim, buffers.dq);
    const Strided dk = writable(dk_, p_.heads_kv, p_.seq_kv, p_.head_dim, buffers.dk);
    const Strided dv = writable(dv_, p_.heads_kv, p_.seq_kv, p_.head_dim_v, buffers.dv);
    const float* const weights = dropout_ ? buffers.dropped : forward.probabilities;
    gemm_by_keys(call, "cpu_gemm_dv", weights, dout, p_.head_dim_v, dv);
    gemm_dp(call, dout, forward.v, buffers.dscores);
    if (dropout_)
      each_row(call, "cpu_dropout_backward", buffers.dscores, [&](std::int64_t, std::int64_t n, float* row) { dropout_(n, row, row, p_.seq_kv); });
    each_row(call, "cpu_softmax_backward", buffers.dscores, [&](std::int64_t, std::int64_t n, float* row) {
      if (p_.dead_rows == ATTN_DEAD_MEAN && buffers.dead[n]) std::fill_n(row, p_.seq_kv, 0.0f);
      else softmax_backward_(forward.probabilities + n * p_.seq_kv, row, p_.seq_kv);
    });
    if (p_.softcap != 0) {
      const auto inverse = static_cast<float>(1.0 / p_.softcap);
      each_row(call, "cpu_softcap_backward", buffers.dscores, [&](std::int64_t, std::int64_t n, float* row) {
        const float* const capped = buffers.capped + n * p_.seq_kv;
        for (std::int64_t j = 0; j < p_.seq_kv; ++j) {
          const float t = capped[j] * inverse;
          row[j] *= (1.0f - t) * (1.0f + t);
        }
      });
    }
    const auto scale = static_cast<float>(p_.scale);
    if (!forward.operands_scaled)
      each_row(call, "cpu_scale_backward", buffers.dscores, [&](std::int64_t, std::int64_t, float* row) {
        for (std::int64_t j = 0; j < p_.seq_kv; ++j) row[j] *= scale;
      });
    gemm_dq(call, buffers.dscores, forward.k, dq);
    gemm_by_keys(call, "cpu_gemm_dk", buffers.dscores, forward.q, p_.head_dim, dk);
    if (forward.operands_scaled) {
      const float root = std::sqrt(std::fabs(scale));
      multiply(call, "cpu_scale_dq", dq, p_.heads, p_.seq_q, &Rows::queries, std::signbit(p_.scale) ? -root : root);
      multiply(call, "cpu_scale_dk", dk, p_.heads_kv, p_.seq_kv, &Rows::keys, root);
    }
    if (dq.data != dq_.data) write_back(call, "cpu_cast_dq", "cpu_copy_dq", dq, dq_, p_.heads, p_.seq_q, p_.head_dim, &Rows::queries);
    if (dk.data != dk_.data) write_back(call, "cpu_cast_dk", "cpu_copy_dk", dk, dk_, p_.heads_kv, p_.seq_kv, p_.head_dim, &Rows::keys);
    if (dv.data != dv_.data) write_back(call, "cpu_cast_dv", "cpu_copy_dv", dv, dv_, p_.heads_kv, p_.seq_kv, p_.head_dim_v, &Rows::keys);
  }

 private:
  using Length = std::int64_t (Rows::*)(std::int64_t) const;  // of one sequence: queries or keys

  // Calls body(b, h, s) for every row of a tensor.
  template <class Body>
  void each_index(std::int64_t heads, std::int64_t rows, std::int64_t columns, const Body& body) {
    constexpr std::int64_t kElements = 1 << 14;  // fewer are not worth another thread
    threads_.ranges(p_.batch * heads * rows, kElements / std::max<std::int64_t>(columns, 1), [&](std::int64_t first, std::int64_t end, int) {
      for (std::int64_t n = first; n < end; ++n) body(n / (heads * rows), n / rows % heads, n % rows);
    });
  }
  // Calls body(b, number of the row, row of `scores`), as one operation.
  template <class Body>
  void each_row(const attn_call& call, const char* name, float* scores, const Body& body) {
    const Op op(call, ATTN_OP_KERNEL, name);
    each_index(p_.heads, p_.seq_q, p_.seq_kv, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
      const std::int64_t n = (b * p_.heads + h) * p_.seq_q + i;
      body(b, n, scores + n * p_.seq_kv);
    });
  }
  // Calls body(b, h, first, rows that are no padding, rows) for blocks of rows.
  template <class Body>
  void each_block(std::int64_t heads, std::int64_t all, Length length, const Body& body) {
    constexpr std::int64_t kRows = 256;
    const std::int64_t blocks = (all + kRows - 1) / kRows;
    threads_.each(p_.batch * heads * blocks, [&](std::int64_t task, int) {
      const std::int64_t b = task / (heads * blocks), first = task % blocks * kRows, rows = std::min(kRows, all - first);
      body(b, task / blocks % heads, first, std::clamp<std::int64_t>((rows_.*length)(b) - first, 0, rows), rows);
    });
  }

  Strided readable_dout(const attn_call& call, float* room) {
    if (leading(dout_, p_.seq_q, p_.head_dim_v).dimension > 0) return dout_;
    const Op op(call, ATTN_OP_KERNEL, dout_.dtype == ATTN_FP32 ? "cpu_copy_dout" : "cpu_cast_dout");
    const Strided to(room, p_.heads, p_.seq_q, p_.head_dim_v);
    each_index(p_.heads, p_.seq_q, p_.head_dim_v, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
      if (i < rows_.queries(b)) widen_row(dout_.at(b, h, i), dout_.column, dout_.dtype, p_.head_dim_v, to.floats(b, h, i));
    });
    return to;
  }

  // The tensor itself when BLAS can write it, else a dense one in `room`.
  Strided writable(const Strided& to, std::int64_t heads, std::int64_t rows, std::int64_t columns, float* room) {
    const Leading found = leading(to, rows, columns);
    if (found.order == CblasNoTrans && found.dimension > 0) return to;
    if (!room) throw std::runtime_error("a gradient has strides that BLAS cannot write, and the problem's needs do not say `strides`");
    return Strided(room, heads, rows, columns);
  }

  // to (Skv, columns) = scores (Sq, Skv)^T from (Sq, columns), summed over the query heads that share a KV head.
  void gemm_by_keys(const attn_call& call, const char* name, const float* scores, const Strided& from, std::int64_t columns, const Strided& to) {
    const Op op(call, ATTN_OP_KERNEL, name);
    const Leading by_from = leading(from, p_.seq_q, columns), by_to = leading(to, p_.seq_kv, columns);
    each_block(p_.heads_kv, p_.seq_kv, &Rows::keys, [&](std::int64_t b, std::int64_t kv, std::int64_t first, std::int64_t real, std::int64_t rows) {
      const std::int64_t queries = rows_.queries(b), group = rows_.group();
      for (std::int64_t g = 0; g < group && real > 0 && queries > 0; ++g)
        cblas_sgemm(CblasRowMajor, CblasTrans, by_from.order, static_cast<int>(real), static_cast<int>(columns), static_cast<int>(queries), 1.0f,
                    scores + (b * p_.heads + kv * group + g) * p_.seq_q * p_.seq_kv + first, static_cast<int>(p_.seq_kv),
                    from.floats(b, kv * group + g, 0), by_from.dimension, g == 0 ? 0.0f : 1.0f, to.floats(b, kv, first), by_to.dimension);
      zero(to, b, kv, first + (queries > 0 ? real : 0), first + (to.only_real_rows() ? real : rows), columns);
    });
  }

  // dscores (Sq, Skv) = dout (Sq, Dv) v^T. Padding, which may hold anything, is not read: it counts as zeros.
  void gemm_dp(const attn_call& call, const Strided& dout, const Strided& v, float* dscores) {
    const Op op(call, ATTN_OP_KERNEL, "cpu_gemm_dp");
    const Leading by_dout = leading(dout, p_.seq_q, p_.head_dim_v), by_v = leading(v, p_.seq_kv, p_.head_dim_v);
    each_block(p_.heads, p_.seq_q, &Rows::queries, [&](std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t real, std::int64_t rows) {
      float* const to = dscores + ((b * p_.heads + h) * p_.seq_q + first) * p_.seq_kv;
      const std::int64_t keys = rows_.keys(b);
      if (real < rows || keys < p_.seq_kv) std::fill_n(to, rows * p_.seq_kv, 0.0f);
      if (real == 0 || keys == 0) return;
      cblas_sgemm(CblasRowMajor, by_dout.order, flipped(by_v.order), static_cast<int>(real), static_cast<int>(keys), static_cast<int>(p_.head_dim_v), 1.0f,
                  dout.floats(b, h, first), by_dout.dimension, v.floats(b, h / rows_.group(), 0), by_v.dimension, 0.0f, to, static_cast<int>(p_.seq_kv));
    });
  }

  // dq (Sq, D) = dscores (Sq, Skv) k.
  void gemm_dq(const attn_call& call, const float* dscores, const Strided& k, const Strided& dq) {
    const Op op(call, ATTN_OP_KERNEL, "cpu_gemm_dq");
    const Leading by_k = leading(k, p_.seq_kv, p_.head_dim), by_dq = leading(dq, p_.seq_q, p_.head_dim);
    each_block(p_.heads, p_.seq_q, &Rows::queries, [&](std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t real, std::int64_t rows) {
      const std::int64_t keys = rows_.keys(b);
      if (real > 0 && keys > 0)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, by_k.order, static_cast<int>(real), static_cast<int>(p_.head_dim), static_cast<int>(keys), 1.0f,
                    dscores + ((b * p_.heads + h) * p_.seq_q + first) * p_.seq_kv, static_cast<int>(p_.seq_kv), k.floats(b, h / rows_.group(), 0),
                    by_k.dimension, 0.0f, dq.floats(b, h, first), by_dq.dimension);
      zero(dq, b, h, first + (keys > 0 ? real : 0), first + (dq.only_real_rows() ? real : rows), p_.head_dim);
    });
  }

  static void zero(const Strided& t, std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t end, std::int64_t columns) {
    for (std::int64_t s = first; s < end; ++s) std::fill_n(t.floats(b, h, s), columns, 0.0f);
  }

  void multiply(const attn_call& call, const char* name, const Strided& t, std::int64_t heads, std::int64_t rows, Length length, float factor) {
    const Op op(call, ATTN_OP_KERNEL, name);
    each_index(heads, rows, p_.head_dim, [&](std::int64_t b, std::int64_t h, std::int64_t s) {
      if (s >= (rows_.*length)(b)) return;
      float* const row = t.floats(b, h, s);
      for (std::int64_t d = 0; d < p_.head_dim; ++d) row[d] *= factor;
    });
  }

  void write_back(const attn_call& call, const char* cast, const char* copy, const Strided& from, const Strided& to, std::int64_t heads, std::int64_t rows,
                  std::int64_t columns, Length length) {
    const Op op(call, ATTN_OP_KERNEL, to.dtype == ATTN_FP32 ? copy : cast);
    each_index(heads, rows, columns, [&](std::int64_t b, std::int64_t h, std::int64_t s) {
      if (!to.only_real_rows() || s < (rows_.*length)(b)) narrow_row(from.floats(b, h, s), columns, to.at(b, h, s), to.column, to.dtype);
    });
  }

  attn_problem p_;
  const Rows& rows_;
  Threads& threads_;
  Dropout dropout_;
  Strided dout_, dq_, dk_, dv_;
  ForThisCpu<SoftmaxBackwardRow> softmax_backward_;
};

}  // namespace attn
