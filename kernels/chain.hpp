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

#include "chain_backward.hpp"
#include "chain_operations.hpp"
#include "chain_rows.hpp"

namespace attn {

enum class Route { naive, naive_inplace, math };

// Faults put in on purpose, for the self-test of the gates.
struct Plants {
  bool copy = false;         // the scores are copied once more
  double slow_softmax = 0;   // the softmax does more work, by about this part of the call's
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
        operations_(rows_, threads_),
        dropout_(problem),
        backward_(problem, tensors, operations_, dropout_) {
    if (tensors.lse) {
      lse_ = reinterpret_cast<float*>(static_cast<char*>(tensors.lse->data) + tensors.lse->byte_offset);
      std::copy_n(tensors.lse->strides, 3, lse_strides_);
    }
    prepare_blas(threads_.count());
    if (plants_.slow_softmax > 0) {
      extra_sweeps_ = plants_.slow_softmax * call_in_sweeps(p_);
      sink_.resize(static_cast<std::size_t>(threads_.count() * p_.seq_kv));
    }
  }

  void run(const attn_call& call) {
    Arena arena(call.workspace);
    const Buffers buffers(arena, p_, route_, plants_);
    if (arena.used() > call.workspace_bytes) throw std::runtime_error("the workspace is smaller than supports asked for");
    if (plants_.delay_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(plants_.delay_us));

    const Side queries = operations_.queries(), keys = operations_.keys();
    Strided q = operations_.readable(call, {"cpu_cast_q", "cpu_copy_q"}, q_, queries, p_.head_dim, buffers.q);
    Strided k = operations_.readable(call, {"cpu_cast_k", "cpu_copy_k"}, k_, keys, p_.head_dim, buffers.k);
    const Strided v = operations_.readable(call, {"cpu_cast_v", "cpu_copy_v"}, v_, keys, p_.head_dim_v, buffers.v);
    const Strided o = operations_.writable(o_, queries, p_.head_dim_v, buffers.o);

    forward_ = call.pass != ATTN_CALL_BACKWARD;
    kept_ = &buffers.gradients;
    scores_ = buffers.scores;
    if (route_ == Route::math) math(call, q, k, buffers);
    else naive(call, q, k, buffers);
    const float* const probabilities = scores_;
    if (dropout_) drop(call, buffers.gradients.dropped ? buffers.gradients.dropped : scores_);
    if (forward_) {
      // A sequence without keys has dead rows only.
      operations_.product_by_rows(call, "cpu_gemm_pv", scores_, v, p_.head_dim_v, o, p_.dead_rows == ATTN_DEAD_NAN ? kNaN : 0.0f);
      operations_.write_back(call, {"cpu_cast_o", "cpu_copy_o"}, o, o_, queries, p_.head_dim_v);
    }
    if (p_.pass != ATTN_FORWARD && call.pass != ATTN_CALL_FORWARD)
      backward_.run(call, {q, k, v, probabilities, route_ == Route::math}, buffers.gradients);
  }

 private:
  // What a call costs, in sweeps of the softmax over rows that lie in a cache. A count of work, so that a busy machine makes a fault of time no larger. From the
  // operations' times with AVX-512 (AMD EPYC): in the time that a score takes in a sweep a product does 16 multiplications, an element of q or o is moved and
  // cast, and one of k or v, whose memory is cold, in four times that; the start of a sweep costs as much as 45 scores.
  static double call_in_sweeps(const attn_problem& p) {
    constexpr double kElementwise = 5, kProductsPerSweep = 16, kPerKeyElement = 4, kStart = 45;
    const double passes = p.pass == ATTN_FORWARD ? 1 : 3, dims = static_cast<double>(p.head_dim + p.head_dim_v);
    const double rows_per_key = static_cast<double>(p.heads / p.heads_kv * p.seq_q), keys_per_row = static_cast<double>(p.seq_kv);
    return passes * (kElementwise + dims / kProductsPerSweep + kPerKeyElement * dims / rows_per_key + dims / keys_per_row) * keys_per_row / (keys_per_row + kStart);
  }

  // Where everything lies in the workspace.
  struct Buffers {
    Buffers(Arena& arena, const attn_problem& p, Route route, const Plants& plants) : gradients(arena, p) {
      const bool math = route == Route::math, strided = p.needs & ATTN_CAN_STRIDED, apart = strided || p.page_size > 0;
      const DenseRoom dense{arena, p.batch};
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
    operations_.product_to_scores(call, "cpu_gemm_qk", q, k, p_.head_dim, scores_);
    operations_.scale_scores(call, "cpu_scale", scores_);
    add_biases(call);
    if (rows_.has_additive_mask()) add_mask(call);
    if (rows_.hides()) {
      if (route_ == Route::naive) copy_scores(call, buffers.copy);
      each_row(call, "cpu_masked_fill", [&](const ScoreRow& row) { fill_hidden(row.b, row.h, row.i, row.data); });
    }
    if (plants_.copy) copy_scores(call, scores_ == buffers.scores ? buffers.copy : buffers.scores);
    softmax(call, true);
  }

  // What PyTorch's math path does: sqrt(scale) on both sides (the sign on q's), a mask made for each call, a softmax that is safe against dead rows.
  void math(const attn_call& call, Strided& q, Strided& k, const Buffers& buffers) {
    const Strided scaled_q(buffers.q, p_.heads, p_.seq_q, p_.head_dim), scaled_k(buffers.k, p_.heads_kv, p_.seq_kv, p_.head_dim);
    operations_.scale_by_root(call, "cpu_scale_q", q, scaled_q, operations_.queries());
    operations_.scale_by_root(call, "cpu_scale_k", k, scaled_k, operations_.keys());
    q = scaled_q;
    k = scaled_k;
    const std::int64_t mask_batch = rows_.has_lengths() || rows_.mask_per_batch() ? p_.batch : 1, mask_heads = rows_.mask_per_head() ? p_.heads : 1;
    if (rows_.hides()) build_mask(call, buffers.mask, mask_batch, mask_heads);
    operations_.product_to_scores(call, "cpu_gemm_qk", q, k, p_.head_dim, scores_);
    add_biases(call);
    if (rows_.hides()) {
      each_row(call, "cpu_mask_add", [&](const ScoreRow& row) {
        const float* mask = buffers.mask + (((mask_batch > 1 ? row.b : 0) * mask_heads + (mask_heads > 1 ? row.h : 0)) * p_.seq_q + row.i) * p_.seq_kv;
        for (std::int64_t j = 0; j < p_.seq_kv; ++j) row.data[j] += mask[j];
      });
    } else if (rows_.has_additive_mask()) {
      add_mask(call);
    }
    each_row(call, "cpu_is_neginf", [&](const ScoreRow& row) {
      std::uint8_t* neginf = buffers.neginf + row.number * p_.seq_kv;
      for (std::int64_t j = 0; j < p_.seq_kv; ++j) neginf[j] = row.data[j] == kMinusInfinity;
    });
    softmax(call, false);
    each_row(call, "cpu_all_masked", [&](const ScoreRow& row) {
      const std::uint8_t* neginf = buffers.neginf + row.number * p_.seq_kv;
      std::uint8_t all = 1;
      for (std::int64_t j = 0; j < p_.seq_kv; ++j) all &= neginf[j];
      buffers.dead[row.number] = all;
    });
    each_row(call, "cpu_where", [&](const ScoreRow& row) {
      if (buffers.dead[row.number]) write_dead(row);
    });
  }

  template <class Body>
  void each_row(const attn_call& call, const char* name, const Body& body) {
    operations_.each_row(call, name, scores_, body);
  }

  void add_biases(const attn_call& call) {
    if (p_.softcap != 0)
      each_row(call, "cpu_softcap", [&](const ScoreRow& row) {
        softcap_row_(row.data, p_.seq_kv, static_cast<float>(p_.softcap));
        if (kept_->capped) std::copy_n(row.data, p_.seq_kv, kept_->capped + row.number * p_.seq_kv);  // the result that autograd keeps
      });
    if (rows_.has_alibi())
      each_row(call, "cpu_alibi", [&](const ScoreRow& row) {
        const float slope = rows_.slope(row.h);
        const auto own = static_cast<std::int32_t>(row.i + rows_.offset(row.b));
        for (std::int32_t j = 0; j < static_cast<std::int32_t>(p_.seq_kv); ++j) row.data[j] -= slope * static_cast<float>(std::abs(own - j));
      });
  }

  void add_mask(const attn_call& call) {
    each_row(call, "cpu_mask_add", [&](const ScoreRow& row) {
      const void* mask = rows_.additive_mask(row.b, row.h, row.i);
      for (std::int64_t j = 0; j < p_.seq_kv; ++j) row.data[j] += load_element(mask, j * rows_.mask_column(), p_.dtype);
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
    operations_.each_index(batch, heads, p_.seq_q, p_.seq_kv, [&](std::int64_t b, std::int64_t h, std::int64_t i, int) {
      float* row = mask + ((b * heads + h) * p_.seq_q + i) * p_.seq_kv;
      if (rows_.has_additive_mask()) rows_.mask_row(b, h, i, 0, p_.seq_kv, row, 1);
      else std::fill_n(row, p_.seq_kv, 0.0f);
      fill_hidden(b, h, i, row);
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
    each_row(call, "cpu_softmax", [&](const ScoreRow& row) {
      float total[2];  // sum, maximum
      softmax_row_(row.data, row.data, p_.seq_kv, total);
      const bool dead = total[0] == 0.0f;
      if (dead && policy) write_dead(row);
      if (kept_->dead) kept_->dead[row.number] = dead;
      if (lse_ && forward_) {
        float& lse = lse_[row.b * lse_strides_[0] + row.h * lse_strides_[1] + row.i * lse_strides_[2]];
        lse = dead || row.i >= rows_.queries(row.b) || rows_.keys(row.b) == 0 ? kMinusInfinity : total[1] + std::log(total[0]);
      }
      const auto sweeps_before = [this](std::int64_t number) { return static_cast<std::int64_t>(extra_sweeps_ * static_cast<double>(number)); };
      for (std::int64_t n = sweeps_before(row.number); n < sweeps_before(row.number + 1); ++n)
        softmax_row_(row.data, sink_.data() + row.thread * p_.seq_kv, p_.seq_kv, total);
    });
  }

  // The probabilities after dropout move to `to`.
  void drop(const attn_call& call, float* to) {
    each_row(call, "cpu_dropout", [&](const ScoreRow& row) { dropout_(row.number, row.data, to + row.number * p_.seq_kv, p_.seq_kv); });
    scores_ = to;
  }

  // The probabilities of a row that sees no key.
  void write_dead(const ScoreRow& row) const {
    const auto keys = rows_.keys(row.b);
    const float mean = keys > 0 ? 1.0f / static_cast<float>(keys) : 0.0f;
    std::fill_n(row.data, p_.seq_kv, p_.dead_rows == ATTN_DEAD_ZERO ? 0.0f : p_.dead_rows == ATTN_DEAD_NAN ? kNaN : mean);
  }

  Route route_;
  Plants plants_;
  attn_problem p_;
  Rows rows_;
  Strided q_, k_, v_, o_;
  float* lse_ = nullptr;
  std::int64_t lse_strides_[3] = {};
  Threads threads_;
  ChainOperations operations_;
  Dropout dropout_;
  Backward backward_;
  std::vector<float> sink_;  // (threads, Skv): work done again goes here, not into the workspace, so that the fault stays one of time alone
  double extra_sweeps_ = 0;  // of the planted fault, for each row
  float* scores_ = nullptr;  // where the scores are now, within one run
  const Backward::Buffers* kept_ = nullptr;  // what this run's backward pass finds
  bool forward_ = true;                      // this run writes o and lse
  ForThisCpu<SoftmaxRow> softmax_row_;
  ForThisCpu<SoftcapRow> softcap_row_;
};

}  // namespace attn
