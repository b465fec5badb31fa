#pragma once
// Unfused attention on a GPU, one kernel after the other, as an eager framework runs it. chain.cu registers it, planted.cu with a fault.
//
// The kernels, in their order; [] = only when the case asks for it; gemm is cuBLASLt's:
//
//   route          kernels
//   naive          gemm attn_chain_scale [attn_chain_softcap] [attn_chain_alibi] [attn_chain_mask_add]
//                  [memcpy of the scores, attn_chain_masked_fill] attn_chain_softmax gemm
//   naive_inplace  the same without the memcpy
//   math           [attn_chain_cast_q _k _v] attn_chain_scale_q attn_chain_scale_k [attn_chain_mask_build] gemm [attn_chain_softcap] [attn_chain_alibi]
//                  [attn_chain_mask_add(_built)] attn_chain_is_neginf attn_chain_softmax attn_chain_all_masked attn_chain_where gemm [attn_chain_cast_o]
//
// naive keeps the scores in the case's type and rounds them after every kernel; math is fp32 from end to end, with casts for 16-bit types. The fill exists when
// the case is causal, has a window, a bool mask or lengths of keys. With lengths (so in every ragged and paged case), for strides that cuBLASLt cannot express,
// with k and v of another type than q, and where cuBLASLt has no kernel, attn_chain_gemm_qk and attn_chain_gemm_pv take the gemm's place: still one kernel each
// and no copy, but slow.

#include <chrono>
#include <cmath>
#include <cstddef>
#include <thread>

#include "chain_math.cuh"
#include "chain_softmax.cuh"
#include "lt_product.cuh"

namespace attn {

enum class Route { naive, naive_inplace, math };

// Faults put in on purpose, for the self-test of the gates.
struct Plants {
  bool copy = false;          // the scores are copied once more
  double slow_softmax = 0;    // the softmax does more work, by about this part of the call's
  std::int64_t delay_us = 0;  // the host sleeps before the first kernel
};

class Chain {
 public:
  static constexpr std::uint64_t kCan =
      ATTN_CAN_FP32 | ATTN_CAN_FP16 | ATTN_CAN_BF16 | ATTN_CAN_MIXED_KV | ATTN_CAN_GQA | ATTN_CAN_HEAD_DIM_V | ATTN_CAN_CAUSAL | ATTN_CAN_ALIGN_TOP_LEFT |
      ATTN_CAN_ALIGN_BOTTOM_RIGHT | ATTN_CAN_WINDOW | ATTN_CAN_SOFTCAP | ATTN_CAN_SCALE | ATTN_CAN_ALIBI | ATTN_CAN_MASK_BOOL | ATTN_CAN_MASK_ADDITIVE |
      ATTN_CAN_LENGTHS | ATTN_CAN_RAGGED | ATTN_CAN_PAGED | ATTN_CAN_DETERMINISTIC | ATTN_CAN_STRIDED | ATTN_CAN_DEAD_ZERO |
      ATTN_CAN_DEAD_NAN | ATTN_CAN_DEAD_MEAN | ATTN_CAN_LSE;

  static Support supports(const attn_problem& problem, const attn_device_facts& device, Route route, const Plants& plants = {}) {
    if (problem.seq_kv > INT_MAX) throw Unsupported("a row of scores is counted in 32 bits, this case has " + std::to_string(problem.seq_kv) + " keys");
    Arena count;
    Buffers(count, problem, route, plants);
    if (problem.batch * problem.heads * problem.seq_q > INT_MAX) throw Unsupported("more than 2147483647 rows of scores, which a grid cannot count");
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
        o_(Strided::of_queries(*tensors.o, problem, tensors)) {
    if (tensors.struct_size < offsetof(attn_tensors, workspace_bytes) + sizeof tensors.workspace_bytes)
      throw Unsupported("this harness does not tell a backend its workspace in open");
    use_device(device, attn_chain_where);
    Arena arena(tensors.workspace);
    buffers_ = Buffers(arena, p_, route, plants);
    if (!tensors.workspace || arena.used() > tensors.workspace_bytes) throw std::runtime_error("the workspace is smaller than supports asked for");
    softmax_.scores.rows = rows_;
    softmax_.dead_rows = route == Route::math ? kNoPolicy : p_.dead_rows;
    if (tensors.lse) {
      softmax_.lse = reinterpret_cast<float*>(static_cast<char*>(tensors.lse->data) + tensors.lse->byte_offset);
      std::copy_n(tensors.lse->strides, 3, softmax_.lse_strides);
    }
    if (plants.slow_softmax > 0) {
      // A sweep only reads, which is faster: 67 us where the call's reads and writes took 84 us each (B8 H16 S1024 D64 bf16 causal, H200).
      const double sweeps = 1.25 * plants.slow_softmax * traffic();
      softmax_.extra_sweeps = static_cast<int>(sweeps);
      softmax_.extra_per_1024 = static_cast<int>(std::lround((sweeps - std::floor(sweeps)) * 1024));
    }
    handle_ = make_lt_handle();
    const auto dense = [&](void* data, std::int64_t heads, std::int64_t rows, std::int64_t columns) {
      return Strided(static_cast<float*>(data), heads, rows, columns);
    };
    if (route == Route::math) {
      q32_ = dense(buffers_.q, p_.heads, p_.seq_q, p_.head_dim);
      k32_ = dense(buffers_.k, p_.heads_kv, p_.seq_kv, p_.head_dim);
      v32_ = p_.dtype_kv == ATTN_FP32 ? v_ : dense(buffers_.v, p_.heads_kv, p_.seq_kv, p_.head_dim_v);
      o32_ = p_.dtype == ATTN_FP32 ? o_ : dense(buffers_.o, p_.heads, p_.seq_q, p_.head_dim_v);
    }
    const bool math = route == Route::math;
    const std::int64_t group = p_.heads / p_.heads_kv;
    qk_ = {math ? q32_ : q_, transposed(math ? k32_ : k_), scores_at(buffers_.scores), p_.seq_q, p_.seq_kv, p_.head_dim, p_.batch, p_.heads, group};
    pv_ = {scores_at(final_scores()), math ? v32_ : v_, math ? o32_ : o_, p_.seq_q, p_.head_dim_v, p_.seq_kv, p_.batch, p_.heads, group};
    if (rows_.has_lengths()) return;  // padding must not be multiplied; ragged and paged cases have lengths too
    lt_qk_ = LtProduct::plan(handle_.get(), folded(qk_));
    lt_pv_ = LtProduct::plan(handle_.get(), folded(pv_));
  }

  void run(const attn_call& call) {
    if (call.workspace != buffers_.start) throw std::runtime_error("the call's workspace is not the one that open was told");
    stream_ = static_cast<cudaStream_t>(call.stream);
    if (plants_.delay_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(plants_.delay_us));
    scores_ = buffers_.scores;
    if (route_ == Route::math) math();
    else naive();
  }

 private:
  // Where everything lies in the workspace. Everything of math is fp32.
  struct Buffers {
    Buffers() = default;
    Buffers(Arena& arena, const attn_problem& p, Route route, const Plants& plants) {
      const bool math = route == Route::math;
      const std::int64_t element = math ? 4 : static_cast<std::int64_t>(element_bytes(p.dtype));
      start = arena.take<char>({static_cast<std::int64_t>(kLtWorkspaceBytes)});
      scores = arena.take<char>({p.batch, p.heads, p.seq_q, p.seq_kv, element});
      if (route == Route::naive || plants.copy) copy = arena.take<char>({p.batch, p.heads, p.seq_q, p.seq_kv, element});
      if (!math) return;
      q = arena.take<float>({p.batch, p.heads, p.seq_q, p.head_dim});
      k = arena.take<float>({p.batch, p.heads_kv, p.seq_kv, p.head_dim});
      if (p.dtype_kv != ATTN_FP32) v = arena.take<float>({p.batch, p.heads_kv, p.seq_kv, p.head_dim_v});
      if (p.dtype != ATTN_FP32) o = arena.take<float>({p.batch, p.heads, p.seq_q, p.head_dim_v});
      const bool tensor = p.mask_kind == ATTN_MASK_TENSOR;  // its strides, and so its broadcasts, are not known yet
      mask = arena.take<float>({tensor || (p.needs & (ATTN_CAN_LENGTHS | ATTN_CAN_RAGGED)) ? p.batch : 1, tensor ? p.heads : 1, p.seq_q, p.seq_kv});
      neginf = arena.take<std::uint8_t>({p.batch, p.heads, p.seq_q, p.seq_kv});
      dead = arena.take<std::uint8_t>({p.batch, p.heads, p.seq_q});
    }
    void* start = nullptr;             // cuBLASLt's
    void *scores = nullptr, *copy = nullptr;                              // (B, H, Sq, Skv), fp32 in math, else the case's type
    float *q = nullptr, *k = nullptr, *v = nullptr, *o = nullptr;         // (B, H or Hkv, S, D or Dv)
    float* mask = nullptr;             // (1 or B, 1 or H, Sq, Skv)
    std::uint8_t* neginf = nullptr;    // (B, H, Sq, Skv)
    std::uint8_t* dead = nullptr;      // (B, H, Sq)
  };

  bool clones() const { return route_ == Route::naive && rows_.hides(); }
  // Where the scores are when the softmax is done.
  void* final_scores() const { return clones() != plants_.copy ? buffers_.copy : buffers_.scores; }
  std::int32_t score_type() const { return route_ == Route::math ? ATTN_FP32 : p_.dtype; }
  Strided scores_at(void* data) const {
    Strided view(static_cast<float*>(data), p_.heads, p_.seq_q, p_.seq_kv);
    view.dtype = score_type();
    return view;
  }
  std::int64_t score_bytes() const { return rows_.count() * p_.seq_kv * static_cast<std::int64_t>(element_bytes(score_type())); }

  // What the call moves, in reads or writes of all scores: the products one each, what works in place two, a fill half.
  double traffic() const {
    const int in_place = 2 + (p_.softcap != 0) + (rows_.slopes != nullptr) + rows_.has_additive_mask();
    return 2 + 2.0 * in_place + (rows_.hides() ? 0.5 : 0) + (clones() ? 2 : 0);
  }

  void naive() {
    multiply_qk();
    on_scores([&](auto type, auto width) { start(attn_chain_scale<decltype(type), width()>, width, "attn_chain_scale", static_cast<float>(p_.scale)); });
    add_biases();
    if (rows_.has_additive_mask()) add_mask();
    if (rows_.hides()) {
      if (clones()) copy_scores();
      on_scores([&](auto type, auto width) { start(attn_chain_masked_fill<decltype(type), width()>, width, "attn_chain_masked_fill"); });
    }
    if (plants_.copy) copy_scores();
    softmax();
    multiply_pv();
  }

  // What PyTorch's math path does: sqrt(scale) on both sides (the sign on q's), a mask made for each call, a softmax that is safe against dead rows.
  void math() {
    Strided q = q_, k = k_;
    if (p_.dtype != ATTN_FP32)
      with_type(p_.dtype, [&](auto type) {
        q = convert(attn_chain_cast_q<decltype(type)>, "attn_chain_cast_q", q_, q32_, p_.heads, p_.seq_q, p_.head_dim, rows_.lengths_q, 1);
      });
    if (p_.dtype_kv != ATTN_FP32)
      with_type(p_.dtype_kv, [&](auto type) {
        k = convert(attn_chain_cast_k<decltype(type)>, "attn_chain_cast_k", k_, k32_, p_.heads_kv, p_.seq_kv, p_.head_dim, rows_.lengths_kv, 1);
        convert(attn_chain_cast_v<decltype(type)>, "attn_chain_cast_v", v_, v32_, p_.heads_kv, p_.seq_kv, p_.head_dim_v, rows_.lengths_kv, 1);
      });
    const auto root = static_cast<float>(std::sqrt(std::fabs(p_.scale)));
    convert(attn_chain_scale_q, "attn_chain_scale_q", q, q32_, p_.heads, p_.seq_q, p_.head_dim, rows_.lengths_q, std::signbit(p_.scale) ? -root : root);
    convert(attn_chain_scale_k, "attn_chain_scale_k", k, k32_, p_.heads_kv, p_.seq_kv, p_.head_dim, rows_.lengths_kv, root);
    const BuiltMask mask{buffers_.mask, rows_.has_lengths() || rows_.mask_strides[0] != 0 ? p_.batch : 1, rows_.mask_strides[1] != 0 ? p_.heads : 1};
    if (rows_.hides())
      with_type(p_.dtype, [&](auto type) {
        on_scores([&](auto, auto width) {
          const std::int64_t blocks = blocks_for<width()>(mask.rows(rows_), p_.seq_kv);
          launch(attn_chain_mask_build<decltype(type), width()>, blocks, kBlockThreads, stream_, "attn_chain_mask_build", mask, rows_);
        });
      });
    multiply_qk();
    add_biases();
    if (rows_.hides()) on_wide_scores([&](auto width) { start(attn_chain_mask_add_built<width()>, width, "attn_chain_mask_add_built", mask); });
    else if (rows_.has_additive_mask()) add_mask();
    on_wide_scores([&](auto width) { start(attn_chain_is_neginf<width()>, width, "attn_chain_is_neginf", buffers_.neginf); });
    softmax();
    on_wide_scores([&](auto width) {
      const std::int64_t blocks = blocks_of_rows(rows_.count());
      launch(attn_chain_all_masked<width()>, blocks, kBlockThreads, stream_, "attn_chain_all_masked", rows_, buffers_.neginf, buffers_.dead);
    });
    launch(attn_chain_where, blocks_of_rows(rows_.count()), kBlockThreads, stream_, "attn_chain_where", scores(), buffers_.dead, p_.dead_rows);
    multiply_pv();
    if (p_.dtype != ATTN_FP32)
      with_type(p_.dtype, [&](auto type) {
        convert(attn_chain_cast_o<decltype(type)>, "attn_chain_cast_o", o32_, o_, p_.heads, p_.seq_q, p_.head_dim_v, o_.starts ? rows_.lengths_q : nullptr, 1);
      });
  }

  void multiply_qk() {
    if (lt_qk_) lt_qk_->run(buffers_.start, stream_);
    else launch(attn_chain_gemm_qk, tiles_of(qk_), Tile::threads, stream_, "attn_chain_gemm_qk", qk_, rows_);
  }
  void multiply_pv() {
    if (lt_pv_) lt_pv_->run(buffers_.start, stream_);
    else launch(attn_chain_gemm_pv, tiles_of(pv_), Tile::threads, stream_, "attn_chain_gemm_pv", pv_, rows_, p_.dead_rows);
  }

  void add_biases() {
    if (p_.softcap != 0)
      on_scores([&](auto type, auto width) {
        start(attn_chain_softcap<decltype(type), width()>, width, "attn_chain_softcap", static_cast<float>(p_.softcap));
      });
    if (rows_.slopes) on_scores([&](auto type, auto width) { start(attn_chain_alibi<decltype(type), width()>, width, "attn_chain_alibi"); });
  }

  void add_mask() {
    with_type(p_.dtype, [&](auto mask_type) {
      on_scores([&](auto type, auto width) { start(attn_chain_mask_add<decltype(type), decltype(mask_type), width()>, width, "attn_chain_mask_add"); });
    });
  }

  void copy_scores() {
    void* to = scores_ == buffers_.scores ? buffers_.copy : buffers_.scores;
    check(cudaMemcpyAsync(to, scores_, static_cast<std::size_t>(score_bytes()), cudaMemcpyDeviceToDevice, stream_), "cudaMemcpyAsync of the scores");
    scores_ = to;
  }

  void softmax() {
    softmax_.scores = scores();
    on_scores([&](auto type, auto width) { launch_softmax<decltype(type), width()>(softmax_, stream_); });
  }

  Scores scores() const { return {scores_, rows_}; }

  // Calls body(value of the scores' type, width) with the widest access that every row of scores allows.
  template <class Body>
  void on_scores(const Body& body) const {
    with_type(score_type(), [&](auto type) {
      constexpr int kWidth = kPack<decltype(type)>;
      if (p_.seq_kv % kWidth == 0) body(type, std::integral_constant<int, kWidth>{});
      else body(type, std::integral_constant<int, 1>{});
    });
  }
  template <class Body>
  void on_wide_scores(const Body& body) const {
    if (p_.seq_kv % kPack<float> == 0) body(std::integral_constant<int, kPack<float>>{});
    else body(std::integral_constant<int, 1>{});
  }

  // One kernel over all scores.
  template <class Kernel, class Width, class... Arguments>
  void start(Kernel* kernel, Width, const char* name, const Arguments&... arguments) const {
    launch(kernel, blocks_for<Width::value>(rows_.count(), p_.seq_kv), kBlockThreads, stream_, name, scores(), arguments...);
  }

  template <class Kernel>
  Strided convert(Kernel* kernel, const char* name, const Strided& from, const Strided& to, std::int64_t heads, std::int64_t length, std::int64_t columns,
                  const std::int32_t* lengths, float factor) const {
    const std::int64_t rows = p_.batch * heads * length;
    launch(kernel, blocks_of_rows(rows), kBlockThreads, stream_, name, Rows4{from, heads, length, columns, lengths}, Rows4{to, heads, length, columns, nullptr},
           rows, factor);
    return to;
  }

  Route route_;
  Plants plants_;
  attn_problem p_;
  GpuRows rows_;
  Strided q_, k_, v_, o_;
  Strided q32_, k32_, v32_, o32_;  // math's
  Buffers buffers_;
  Softmax softmax_{};
  LtHandle handle_;
  Product qk_{}, pv_{};
  std::optional<LtProduct> lt_qk_, lt_pv_;  // empty: our own kernel
  cudaStream_t stream_ = nullptr;
  void* scores_ = nullptr;  // where the scores are now, within one run
};

}  // namespace attn
