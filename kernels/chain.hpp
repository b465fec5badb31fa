#pragma once
// Unfused attention, one reported operation after the other, as an eager framework runs it. chain.cc registers it, planted.cc with a fault.
//
// The operations, in their order; [] = only when the case asks for it:
//
//   route          operations
//   naive          [cpu_cast_q cpu_cast_k cpu_cast_v] cpu_gemm_qk cpu_scale [cpu_softcap] [cpu_alibi] [cpu_mask_add]
//                  [memcpy cpu_memcpy_scores, cpu_masked_fill] cpu_softmax cpu_gemm_pv [cpu_cast_o]
//   naive_inplace  the same without the memcpy
//   math           [cpu_cast_q cpu_cast_k cpu_cast_v] cpu_scale_q cpu_scale_k [cpu_mask_build] cpu_gemm_qk [cpu_softcap] [cpu_alibi] [cpu_mask_add]
//                  cpu_is_neginf cpu_softmax cpu_all_masked cpu_where cpu_gemm_pv [cpu_cast_o]
//
// With dropout, cpu_dropout before cpu_gemm_pv. The backward pass follows with the operations of chain_backward.hpp; a call of it alone makes the probabilities
// again, as activation checkpointing does. naive_inplace has none.
// cpu_cast_*: 16-bit to fp32 and back. cpu_copy_q, _k, _v, _o: an fp32 tensor whose strides BLAS cannot read or write, or whose keys lie in pages, goes through
// a dense copy; ragged ones are read where they lie.
// The fill exists when the case is causal, has a window, a bool mask or lengths of keys. All arithmetic is fp32; a query head reads its KV head in place.

#include <chrono>
#include <thread>

#include "blas.hpp"
#include "chain_backward.hpp"
#include "chain_rows.hpp"
#include "threads.hpp"

namespace attn {

enum class Route { naive, naive_inplace, math };

// Faults put in on purpose, for the self-test of the gates.
struct Plants {
  bool copy = false;         // the scores are copied once more
  double slow_softmax = 0;   // from the second call on the softmax works on until the call has taken this part longer
  std::int64_t delay_us = 0; // the host sleeps before the first operation
};

class Chain {
 public:
  static constexpr std::uint64_t kCan =
      ATTN_CAN_FP32 | ATTN_CAN_FP16 | ATTN_CAN_BF16 | ATTN_CAN_MIXED_KV | ATTN_CAN_GQA | ATTN_CAN_HEAD_DIM_V | ATTN_CAN_CAUSAL | ATTN_CAN_ALIGN_TOP_LEFT |
      ATTN_CAN_ALIGN_BOTTOM_RIGHT | ATTN_CAN_WINDOW | ATTN_CAN_SOFTCAP | ATTN_CAN_SCALE | ATTN_CAN_ALIBI | ATTN_CAN_MASK_BOOL | ATTN_CAN_MASK_ADDITIVE |
      ATTN_CAN_LENGTHS | ATTN_CAN_RAGGED | ATTN_CAN_PAGED | ATTN_CAN_DETERMINISTIC | ATTN_CAN_STRIDED | ATTN_CAN_DEAD_ZERO |
      ATTN_CAN_DEAD_NAN | ATTN_CAN_DEAD_MEAN | ATTN_CAN_LSE | ATTN_CAN_BACKWARD | ATTN_CAN_DROPOUT;

  static Support supports(const attn_problem& problem, const attn_device_facts& device, Route route, const Plants& plants = {}) {
    for (const std::int64_t size : {problem.seq_q, problem.seq_kv, problem.head_dim, problem.head_dim_v})
      if (size > INT_MAX) throw Unsupported("BLAS counts in 32 bits, this case has a side of " + std::to_string(size));
    Arena count;
    Buffers(count, problem, route, plants);
    return fitting(count.used(), device);
  }

  Chain(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, Route route, const Plants& plants = {})
      : route_(route),
        plants_(plants),
        p_(problem),
        rows_(problem, tensors),
        q_(Strided::of_queries(*tensors.q, problem, tensors)),
        k_(Strided::of_keys(*tensors.k, problem, tensors)),
        v_(Strided::of_keys(*tensors.v, problem, tensors)),
        o_(Strided::of_queries(*tensors.o, problem, tensors)),
        threads_(threads_of(device)),
        dropout_(problem),
        backward_(problem, tensors, rows_, threads_) {
    if (tensors.lse) {
      lse_ = reinterpret_cast<float*>(static_cast<char*>(tensors.lse->data) + tensors.lse->byte_offset);
      std::copy_n(tensors.lse->strides, 3, lse_strides_);
    }
    prepare_blas(threads_.count());
    if (plants_.slow_softmax > 0) sink_.resize(static_cast<std::size_t>(threads_.count() * p_.seq_kv));
  }

  void run(const attn_call& call) {
    const auto start = Clock::now();
    extra_ = std::chrono::duration_cast<Clock::duration>(plants_.slow_softmax * own_);
    Arena arena(call.workspace);
    const Buffers buffers(arena, p_, route_, plants_);
    if (arena.used() > call.workspace_bytes) throw std::runtime_error("the workspace is smaller than supports asked for");
    if (plants_.delay_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(plants_.delay_us));

    Strided q = readable(call, q_, p_.heads, p_.seq_q, p_.head_dim, buffers.q, &Rows::queries, "cpu_cast_q", "cpu_copy_q");
    Strided k = readable(call, k_, p_.heads_kv, p_.seq_kv, p_.head_dim, buffers.k, &Rows::keys, "cpu_cast_k", "cpu_copy_k");
    const Strided v = readable(call, v_, p_.heads_kv, p_.seq_kv, p_.head_dim_v, buffers.v, &Rows::keys, "cpu_cast_v", "cpu_copy_v");
    const bool in_place = leading(o_, p_.seq_q, p_.head_dim_v).order == CblasNoTrans && leading(o_, p_.seq_q, p_.head_dim_v).dimension > 0;
    const Strided o = in_place ? o_ : Strided(buffers.o, p_.heads, p_.seq_q, p_.head_dim_v);

    forward_ = call.pass != ATTN_CALL_BACKWARD;
    kept_ = &buffers.gradients;
    scores_ = buffers.scores;
    if (route_ == Route::math) math(call, q, k, buffers);
    else naive(call, q, k, buffers);
    const float* const probabilities = scores_;
    if (dropout_) drop(call, buffers.gradients.dropped ? buffers.gradients.dropped : scores_);
    if (forward_) {
      gemm_pv(call, v, o);
      if (!in_place) write_back(call, o);
    }
    if (p_.pass != ATTN_FORWARD && call.pass != ATTN_CALL_FORWARD)
      backward_.run(call, {q, k, v, probabilities, route_ == Route::math}, buffers.gradients);
    own_ = Clock::now() - start - extra_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Where everything lies in the workspace.
  struct Buffers {
    Buffers(Arena& arena, const attn_problem& p, Route route, const Plants& plants) : gradients(arena, p) {
      const bool math = route == Route::math, strided = p.needs & ATTN_CAN_STRIDED, apart = strided || p.page_size > 0;
      const auto dense = [&](bool needed, std::int64_t heads, std::int64_t rows, std::int64_t columns) {
        return needed ? arena.take<float>({p.batch, heads, rows, columns}) : nullptr;
      };
      q = dense(math || strided || p.dtype != ATTN_FP32, p.heads, p.seq_q, p.head_dim);
      k = dense(math || apart || p.dtype_kv != ATTN_FP32, p.heads_kv, p.seq_kv, p.head_dim);
      v = dense(apart || p.dtype_kv != ATTN_FP32, p.heads_kv, p.seq_kv, p.head_dim_v);
      o = dense(strided || p.dtype != ATTN_FP32, p.heads, p.seq_q, p.head_dim_v);
      scores = dense(true, p.heads, p.seq_q, p.seq_kv);
      copy = dense(route == Route::naive || plants.copy, p.heads, p.seq_q, p.seq_kv);
      if (!math) return;
      const bool tensor = p.mask_kind == ATTN_MASK_TENSOR;  // its strides, and so its broadcasts, are not known yet
      mask = arena.take<float>({tensor || (p.needs & (ATTN_CAN_LENGTHS | ATTN_CAN_RAGGED)) ? p.batch : 1, tensor ? p.heads : 1, p.seq_q, p.seq_kv});
      neginf = arena.take<std::uint8_t>({p.batch, p.heads, p.seq_q, p.seq_kv});
      dead = arena.take<std::uint8_t>({p.batch, p.heads, p.seq_q});
    }
    Backward::Buffers gradients;
    float *q, *k, *v, *o;    // (B, H or Hkv, S, D or Dv), when a dense fp32 copy may be needed
    float *scores, *copy;    // (B, H, Sq, Skv)
    float* mask = nullptr;   // (1 or B, 1 or H, Sq, Skv)
    std::uint8_t* neginf = nullptr;  // (B, H, Sq, Skv)
    std::uint8_t* dead = nullptr;    // (B, H, Sq)
  };

  void naive(const attn_call& call, const Strided& q, const Strided& k, const Buffers& buffers) {
    gemm_qk(call, q, k);
    each_row(call, "cpu_scale", [&](std::int64_t, std::int64_t, std::int64_t, float* row, int) {
      const auto scale = static_cast<float>(p_.scale);
      for (std::int64_t j = 0; j < p_.seq_kv; ++j) row[j] *= scale;
    });
    add_biases(call);
    if (rows_.has_additive_mask()) add_mask(call);
    if (rows_.hides()) {
      if (route_ == Route::naive) copy_scores(call, buffers.copy);
      each_row(call, "cpu_masked_fill", [&](std::int64_t b, std::int64_t h, std::int64_t i, float* row, int) { fill_hidden(b, h, i, row); });
    }
    if (plants_.copy) copy_scores(call, scores_ == buffers.scores ? buffers.copy : buffers.scores);
    softmax(call, true);
  }

  // What PyTorch's math path does: sqrt(scale) on both sides (the sign on q's), a mask made for each call, a softmax that is safe against dead rows.
  void math(const attn_call& call, Strided& q, Strided& k, const Buffers& buffers) {
    const auto root = static_cast<float>(std::sqrt(std::fabs(p_.scale)));
    scale_operand(call, "cpu_scale_q", q, p_.heads, p_.seq_q, buffers.q, &Rows::queries, std::signbit(p_.scale) ? -root : root);
    scale_operand(call, "cpu_scale_k", k, p_.heads_kv, p_.seq_kv, buffers.k, &Rows::keys, root);
    const std::int64_t mask_batch = rows_.has_lengths() || rows_.mask_per_batch() ? p_.batch : 1, mask_heads = rows_.mask_per_head() ? p_.heads : 1;
    if (rows_.hides()) build_mask(call, buffers.mask, mask_batch, mask_heads);
    gemm_qk(call, q, k);
    add_biases(call);
    if (rows_.hides()) {
      each_row(call, "cpu_mask_add", [&](std::int64_t b, std::int64_t h, std::int64_t i, float* row, int) {
        const float* mask = buffers.mask + (((mask_batch > 1 ? b : 0) * mask_heads + (mask_heads > 1 ? h : 0)) * p_.seq_q + i) * p_.seq_kv;
        for (std::int64_t j = 0; j < p_.seq_kv; ++j) row[j] += mask[j];
      });
    } else if (rows_.has_additive_mask()) {
      add_mask(call);
    }
    const auto index = [&](std::int64_t b, std::int64_t h, std::int64_t i) { return (b * p_.heads + h) * p_.seq_q + i; };
    each_row(call, "cpu_is_neginf", [&](std::int64_t b, std::int64_t h, std::int64_t i, const float* row, int) {
      std::uint8_t* neginf = buffers.neginf + index(b, h, i) * p_.seq_kv;
      for (std::int64_t j = 0; j < p_.seq_kv; ++j) neginf[j] = row[j] == kMinusInfinity;
    });
    softmax(call, false);
    each_row(call, "cpu_all_masked", [&](std::int64_t b, std::int64_t h, std::int64_t i, float*, int) {
      const std::uint8_t* neginf = buffers.neginf + index(b, h, i) * p_.seq_kv;
      std::uint8_t all = 1;
      for (std::int64_t j = 0; j < p_.seq_kv; ++j) all &= neginf[j];
      buffers.dead[index(b, h, i)] = all;
    });
    each_row(call, "cpu_where", [&](std::int64_t b, std::int64_t h, std::int64_t i, float* row, int) {
      if (buffers.dead[index(b, h, i)]) write_dead(b, row);
    });
  }

  // Calls body(b, h, i, row of scores, thread) for every row, as one operation.
  template <class Body>
  void each_row(const attn_call& call, const char* name, const Body& body) {
    const Op op(call, ATTN_OP_KERNEL, name);
    each_index(p_.heads, p_.seq_q, p_.seq_kv, [&](std::int64_t b, std::int64_t h, std::int64_t i, int thread) {
      body(b, h, i, scores_ + ((b * p_.heads + h) * p_.seq_q + i) * p_.seq_kv, thread);
    });
  }

  template <class Body>
  void each_index(std::int64_t heads, std::int64_t rows, std::int64_t columns, const Body& body) {
    constexpr std::int64_t kElements = 1 << 14;  // fewer are not worth another thread
    threads_.ranges(p_.batch * heads * rows, kElements / std::max<std::int64_t>(columns, 1), [&](std::int64_t first, std::int64_t end, int thread) {
      for (std::int64_t n = first; n < end; ++n) body(n / (heads * rows), n / rows % heads, n % rows, thread);
    });
  }

  using Length = std::int64_t (Rows::*)(std::int64_t) const;  // of one sequence: queries or keys

  // The tensor itself when BLAS can read it, else a dense fp32 copy in `room`, in which padding keeps what it held.
  Strided readable(const attn_call& call, const Strided& from, std::int64_t heads, std::int64_t rows, std::int64_t columns, float* room, Length length,
                   const char* cast, const char* copy) {
    if (leading(from, rows, columns).dimension > 0) return from;
    if (!room) throw std::runtime_error("a tensor has strides that BLAS cannot read, and the problem's needs do not say `strides`");
    const Op op(call, ATTN_OP_KERNEL, from.dtype == ATTN_FP32 ? copy : cast);
    const Strided to(room, heads, rows, columns);
    each_index(heads, rows, columns, [&](std::int64_t b, std::int64_t h, std::int64_t s, int) {
      if (s < (rows_.*length)(b)) widen_row(from.at(b, h, s), from.column, from.dtype, columns, to.floats(b, h, s));
    });
    return to;
  }

  void write_back(const attn_call& call, const Strided& from) {
    const Op op(call, ATTN_OP_KERNEL, o_.dtype == ATTN_FP32 ? "cpu_copy_o" : "cpu_cast_o");
    each_index(p_.heads, p_.seq_q, p_.head_dim_v, [&](std::int64_t b, std::int64_t h, std::int64_t i, int) {
      if (i < written(b)) narrow_row(from.floats(b, h, i), p_.head_dim_v, o_.at(b, h, i), o_.column, o_.dtype);
    });
  }

  // `view` becomes the scaled copy in `room`, which may be what it already shows.
  void scale_operand(const attn_call& call, const char* name, Strided& view, std::int64_t heads, std::int64_t rows, float* room, Length length, float factor) {
    const Op op(call, ATTN_OP_KERNEL, name);
    const Strided to(room, heads, rows, p_.head_dim);
    each_index(heads, rows, p_.head_dim, [&](std::int64_t b, std::int64_t h, std::int64_t s, int) {
      if (s >= (rows_.*length)(b)) return;
      const float* from = view.floats(b, h, s);
      float* row = to.floats(b, h, s);
      for (std::int64_t d = 0; d < p_.head_dim; ++d) row[d] = from[d * view.column] * factor;
    });
    view = to;
  }

  // Calls body(b, h, first row, rows that are no padding, rows) for blocks of query rows.
  template <class Body>
  void each_block(const Body& body) {
    constexpr std::int64_t kRows = 256;  // enough for BLAS to earn the packing of its right side
    const std::int64_t blocks = (p_.seq_q + kRows - 1) / kRows;
    threads_.each(p_.batch * p_.heads * blocks, [&](std::int64_t task, int) {
      const std::int64_t b = task / (p_.heads * blocks), h = task / blocks % p_.heads, first = task % blocks * kRows;
      const std::int64_t rows = std::min(kRows, p_.seq_q - first);
      body(b, h, first, std::clamp<std::int64_t>(rows_.queries(b) - first, 0, rows), rows);
    });
  }

  // scores (Sq, Skv) = q (Sq, D) k^T. Padding, which may hold anything, is not read: it counts as zeros.
  void gemm_qk(const attn_call& call, const Strided& q, const Strided& k) {
    const Op op(call, ATTN_OP_KERNEL, "cpu_gemm_qk");
    const Leading by_q = leading(q, p_.seq_q, p_.head_dim), by_k = leading(k, p_.seq_kv, p_.head_dim);
    each_block([&](std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t real, std::int64_t rows) {
      float* scores = scores_ + ((b * p_.heads + h) * p_.seq_q + first) * p_.seq_kv;
      const std::int64_t keys = rows_.keys(b);
      if (real < rows || keys < p_.seq_kv) std::fill_n(scores, rows * p_.seq_kv, 0.0f);
      if (real == 0 || keys == 0) return;
      cblas_sgemm(CblasRowMajor, by_q.order, flipped(by_k.order), static_cast<int>(real), static_cast<int>(keys), static_cast<int>(p_.head_dim), 1.0f,
                  q.floats(b, h, first), by_q.dimension, k.floats(b, h / rows_.group(), 0), by_k.dimension, 0.0f, scores, static_cast<int>(p_.seq_kv));
    });
  }

  // Rows of a sequence's output: padding rows too where there are any.
  std::int64_t written(std::int64_t b) const { return o_.only_real_rows() ? rows_.queries(b) : p_.seq_q; }

  // o (Sq, Dv) = probabilities (Sq, Skv) v. Padding rows become 0.
  void gemm_pv(const attn_call& call, const Strided& v, const Strided& o) {
    const Op op(call, ATTN_OP_KERNEL, "cpu_gemm_pv");
    const Leading by_v = leading(v, p_.seq_kv, p_.head_dim_v), by_o = leading(o, p_.seq_q, p_.head_dim_v);
    each_block([&](std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t real, std::int64_t rows) {
      const std::int64_t keys = rows_.keys(b);
      if (real > 0 && keys > 0)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, by_v.order, static_cast<int>(real), static_cast<int>(p_.head_dim_v), static_cast<int>(keys), 1.0f,
                    scores_ + ((b * p_.heads + h) * p_.seq_q + first) * p_.seq_kv, static_cast<int>(p_.seq_kv), v.floats(b, h / rows_.group(), 0),
                    by_v.dimension, 0.0f, o.floats(b, h, first), by_o.dimension);
      // A sequence without keys has dead rows only.
      const float nothing = p_.dead_rows == ATTN_DEAD_NAN ? kNaN : 0.0f;
      const std::int64_t end = o.only_real_rows() ? real : rows;
      for (std::int64_t i = keys > 0 ? real : 0; i < end; ++i) std::fill_n(o.floats(b, h, first + i), p_.head_dim_v, i < real ? nothing : 0.0f);
    });
  }

  void add_biases(const attn_call& call) {
    if (p_.softcap != 0)
      each_row(call, "cpu_softcap", [&](std::int64_t, std::int64_t, std::int64_t, float* row, int) {
        softcap_row_(row, p_.seq_kv, static_cast<float>(p_.softcap));
        if (kept_->capped) std::copy_n(row, p_.seq_kv, kept_->capped + (row - scores_));  // the result that autograd keeps
      });
    if (rows_.has_alibi())
      each_row(call, "cpu_alibi", [&](std::int64_t b, std::int64_t h, std::int64_t i, float* row, int) {
        const float slope = rows_.slope(h);
        const auto own = static_cast<std::int32_t>(i + rows_.offset(b));
        for (std::int32_t j = 0; j < static_cast<std::int32_t>(p_.seq_kv); ++j) row[j] -= slope * static_cast<float>(std::abs(own - j));
      });
  }

  void add_mask(const attn_call& call) {
    each_row(call, "cpu_mask_add", [&](std::int64_t b, std::int64_t h, std::int64_t i, float* row, int) {
      const void* mask = rows_.additive_mask(b, h, i);
      for (std::int64_t j = 0; j < p_.seq_kv; ++j) row[j] += load_element(mask, j * rows_.mask_column(), p_.dtype);
    });
  }

  void fill_hidden(std::int64_t b, std::int64_t h, std::int64_t i, float* row) const {
    const Keys keys = rows_.visible(b, i);
    std::fill(row, row + std::min(keys.first, p_.seq_kv), kMinusInfinity);
    if (rows_.has_bool_mask()) {
      const std::uint8_t* mask = rows_.bool_mask(b, h, i);
      for (std::int64_t j = keys.first; j < keys.end; ++j) row[j] = mask[j * rows_.mask_column()] ? row[j] : kMinusInfinity;
    }
    std::fill(row + std::min(keys.end, p_.seq_kv), row + p_.seq_kv, kMinusInfinity);
  }

  void build_mask(const attn_call& call, float* mask, std::int64_t batch, std::int64_t heads) {
    const Op op(call, ATTN_OP_KERNEL, "cpu_mask_build");
    threads_.ranges(batch * heads * p_.seq_q, 1, [&](std::int64_t first, std::int64_t end, int) {
      for (std::int64_t n = first; n < end; ++n) {
        const std::int64_t b = n / (heads * p_.seq_q), h = n / p_.seq_q % heads, i = n % p_.seq_q;
        float* row = mask + n * p_.seq_kv;
        if (rows_.has_additive_mask()) rows_.mask_row(b, h, i, 0, p_.seq_kv, row, 1);
        else std::fill_n(row, p_.seq_kv, 0.0f);
        fill_hidden(b, h, i, row);
      }
    });
  }

  // The scores move to `to`.
  void copy_scores(const attn_call& call, float* to) {
    const std::int64_t count = rows_.count() * p_.seq_kv;
    const Op op(call, ATTN_OP_MEMCPY, "cpu_memcpy_scores", static_cast<std::uint64_t>(count) * sizeof(float));
    threads_.ranges(count, 1 << 16, [&](std::int64_t first, std::int64_t end, int) {
      std::memcpy(to + first, scores_ + first, static_cast<std::size_t>(end - first) * sizeof(float));
    });
    scores_ = to;
  }

  // Without `policy` a dead row becomes NaN, as 0/0 makes it.
  void softmax(const attn_call& call, bool policy) {
    each_row(call, "cpu_softmax", [&](std::int64_t b, std::int64_t h, std::int64_t i, float* row, int thread) {
      float total[2];  // sum, maximum
      softmax_row_(row, row, p_.seq_kv, total);
      const bool dead = total[0] == 0.0f;
      if (dead && policy) write_dead(b, row);
      if (kept_->dead) kept_->dead[(b * p_.heads + h) * p_.seq_q + i] = dead;
      if (lse_ && forward_) {
        float& lse = lse_[b * lse_strides_[0] + h * lse_strides_[1] + i * lse_strides_[2]];
        lse = dead || i >= rows_.queries(b) || rows_.keys(b) == 0 ? kMinusInfinity : total[1] + std::log(total[0]);
      }
      if (extra_ > Clock::duration::zero())
        for (const auto until = Clock::now() + extra_ * threads_.count() / rows_.count(); Clock::now() < until;)
          softmax_row_(row, sink_.data() + thread * p_.seq_kv, p_.seq_kv, total);
    });
  }

  // The probabilities after dropout move to `to`.
  void drop(const attn_call& call, float* to) {
    each_row(call, "cpu_dropout", [&](std::int64_t b, std::int64_t h, std::int64_t i, const float* row, int) {
      dropout_((b * p_.heads + h) * p_.seq_q + i, row, to + (row - scores_), p_.seq_kv);
    });
    scores_ = to;
  }

  // The probabilities of a row that sees no key.
  void write_dead(std::int64_t b, float* row) const {
    const auto keys = rows_.keys(b);
    const float mean = keys > 0 ? 1.0f / static_cast<float>(keys) : 0.0f;
    std::fill_n(row, p_.seq_kv, p_.dead_rows == ATTN_DEAD_ZERO ? 0.0f : p_.dead_rows == ATTN_DEAD_NAN ? kNaN : mean);
  }

  Route route_;
  Plants plants_;
  attn_problem p_;
  Rows rows_;
  Strided q_, k_, v_, o_;
  float* lse_ = nullptr;
  std::int64_t lse_strides_[3] = {};
  Threads threads_;
  Dropout dropout_;
  Backward backward_;
  std::vector<float> sink_;  // (threads, Skv): work done again goes here, not into the workspace, so that the fault stays one of time alone
  std::chrono::duration<double, std::nano> own_{0};  // the last call's time without what was added
  Clock::duration extra_{};                          // what is added to this call
  float* scores_ = nullptr;  // where the scores are now, within one run
  const Backward::Buffers* kept_ = nullptr;  // what this run's backward pass finds
  bool forward_ = true;                      // this run writes o and lse
  ForThisCpu<SoftmaxRow> softmax_row_;
  ForThisCpu<SoftcapRow> softcap_row_;
};

}  // namespace attn
