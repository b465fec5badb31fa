// Blocked attention with an online softmax on the CPU: one operation, backward two, and nothing of size seq_q x seq_kv is ever stored.
//
// The loop order is FlashAttention-2's (Dao 2023, arXiv 2307.08691): a tile of query rows stays, blocks of keys pass by; blocks that causality or a
// window hides are never touched. The query heads that share a KV head are rows of the same tile, so that grouped heads read their keys once. When there
// are fewer tiles than threads could use (decoding), the keys are split too and the parts are merged by their maxima and sums. 16-bit inputs are widened
// block by block, and a block of keys that crosses pages is gathered so; else ragged and paged keys are read where they lie. Gains: memory linear in the
// sequence; half the work of the chain when causal; at decoding scores never leave the cache and K and V are read once per group. Loses: a plain loop of
// products instead of a tuned BLAS. On two busy cores (AMD EPYC, AVX-512) against naive, tests/speed: prefill S1024 D128 0.9 of its time, causal 0.5,
// decoding 4096 keys in groups of 4 heads 0.3, in bf16 0.3, without groups 0.5. Backward: flash_backward.hpp.

#include "flash_backward.hpp"

namespace {

using attn::kMinusInfinity;
using attn::Strided;
using attn::flash::Config;
using attn::flash::Matrix;
using attn::flash::Tile;

class Flash {
 public:
  static constexpr attn::BackendInfo info{
      .name = "flash",
      .can = ATTN_CAN_FP32 | ATTN_CAN_FP16 | ATTN_CAN_BF16 | ATTN_CAN_MIXED_KV | ATTN_CAN_GQA | ATTN_CAN_HEAD_DIM_V | ATTN_CAN_CAUSAL |
             ATTN_CAN_ALIGN_TOP_LEFT | ATTN_CAN_ALIGN_BOTTOM_RIGHT | ATTN_CAN_WINDOW | ATTN_CAN_SOFTCAP | ATTN_CAN_SCALE | ATTN_CAN_ALIBI |
             ATTN_CAN_MASK_BOOL | ATTN_CAN_MASK_ADDITIVE | ATTN_CAN_LENGTHS | ATTN_CAN_RAGGED | ATTN_CAN_PAGED | ATTN_CAN_BACKWARD | ATTN_CAN_DETERMINISTIC |
             ATTN_CAN_DROPOUT | ATTN_CAN_STRIDED | ATTN_CAN_DEAD_ZERO | ATTN_CAN_DEAD_NAN | ATTN_CAN_DEAD_MEAN | ATTN_CAN_LSE,
      .flags = ATTN_FLAG_REPORTS_OPS};

  static attn::Support supports(const attn_problem& problem, const attn_device_facts& device) {
    if (problem.dropout > 0 && problem.needs & ATTN_CAN_DEAD_MEAN) throw attn::Unsupported("dropout of the mean that a dead row gets is not written");
    attn::Arena count;
    Layout(count, problem, attn::threads_of(device));
    return attn::fitting(count.used(), device);
  }

  Flash(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : p_(problem),
        tiles_(problem, tensors),
        rows_(tiles_.rows()),
        o_(Strided::of_queries(*tensors.o, problem, tensors)),
        lse_(tensors.lse),
        dropout_(problem),
        backward_(problem, tensors, tiles_, dropout_),
        threads_(attn::threads_of(device)) {
    options.allow({});
  }

  void run(const attn_call& call) {
    attn::Arena arena(call.workspace);
    const Layout layout(arena, p_, threads_.count());
    if (arena.used() > call.workspace_bytes) throw std::runtime_error("the workspace is smaller than supports asked for");
    const bool forward = call.pass != ATTN_CALL_BACKWARD, gradients = p_.pass != ATTN_FORWARD && call.pass != ATTN_CALL_FORWARD;
    if (forward) go_forward(call, layout, gradients ? &layout.gradients : nullptr);
    if (gradients) go_back(call, layout, forward);
  }

 private:
  using Gradients = attn::flash::Backward::Buffers;

  // What the online softmax knows of a tile: output (transposed in a full tile), running maximum and sum of each row.
  struct State {
    float *output, *most, *total;
  };
  // Where everything lies in the workspace.
  struct Layout {
    Layout(attn::Arena& arena, const attn_problem& p, int threads)
        : tiling(p), splits(splits_of(p, tiling.tiles, threads)), state_floats((p.head_dim_v + 2) * Config::rows), width(p.head_dim_v),
          state_room(arena.take<float>({splits > 1 ? tiling.tiles * splits : threads, state_floats})), scratches(arena, p, threads), gradients(arena, p, threads) {}
    // Into how many parts the keys are split when there are fewer tiles than threads could use.
    static std::int64_t splits_of(const attn_problem& p, std::int64_t tiles, int threads) {
      constexpr std::int64_t kSplitKeys = 256;  // a part shorter than this costs more to merge than it saves
      if (p.pass != ATTN_FORWARD || tiles >= 2 * threads) return 1;
      return std::max<std::int64_t>(1, std::min((2 * threads + tiles - 1) / tiles, p.seq_kv / kSplitKeys));
    }
    State state(std::int64_t n) const {
      float* room = state_room + n * state_floats;
      return {room, room + width * Config::rows, room + (width + 1) * Config::rows};
    }
    attn::flash::Tiling tiling;
    std::int64_t splits, state_floats, width;
    float* state_room;
    attn::flash::Scratches scratches;
    Gradients gradients;
  };

  // `gradients`: where the softmax of every row is remembered for a backward pass; null without one.
  void go_forward(const attn_call& call, const Layout& layout, const Gradients* gradients) {
    const attn::Op op(call, ATTN_OP_KERNEL, "flash_fwd_cpu");
    const std::int64_t tiles = layout.tiling.tiles, splits = layout.splits;
    // Last rows first: with a causal mask they are the longest.
    threads_.each(tiles * splits, [&](std::int64_t task, int thread) {
      const std::int64_t tile = tiles - 1 - task / splits, split = task % splits;
      const Tile work = tiles_.start(tile, layout.scratches.of(thread));
      const State state = splits > 1 ? layout.state(tile * splits + split) : layout.state(thread);
      attend(work, state, split, splits);
      if (splits == 1) finish(work, state, true, gradients);
    });
    if (splits == 1) return;
    threads_.each(tiles, [&](std::int64_t tile, int thread) {
      const Tile work = tiles_.start(tile, layout.scratches.of(thread));
      const State state = layout.state(tile * splits);
      for (std::int64_t split = 1; split < splits; ++split) merge(work, state, layout.state(tile * splits + split));
      finish(work, state, true, gradients);
    });
  }

  // `remembered`: a forward pass of the same call has left the softmax of every row; a call of the backward pass alone makes it again.
  void go_back(const attn_call& call, const Layout& layout, bool remembered) {
    {
      const attn::Op op(call, ATTN_OP_KERNEL, "flash_bwd_dq_cpu");
      threads_.each(layout.tiling.tiles, [&](std::int64_t task, int thread) {
        const Tile work = tiles_.start(layout.tiling.tiles - 1 - task, layout.scratches.of(thread));
        if (!remembered) {
          attend(work, layout.state(thread), 0, 1);
          finish(work, layout.state(thread), false, &layout.gradients);
        }
        backward_.queries(layout.gradients, work, thread);
      });
    }
    const attn::Op op(call, ATTN_OP_KERNEL, "flash_bwd_dkdv_cpu");
    threads_.each(backward_.key_blocks(), [&](std::int64_t block, int thread) { backward_.keys(layout.gradients, block, layout.scratches.of(thread), thread); });
  }

  void attend(const Tile& work, const State& state, std::int64_t split, std::int64_t splits) const {
    std::fill_n(state.most, Config::rows, kMinusInfinity);
    std::fill_n(state.total, Config::rows, 0.0f);
    std::fill_n(state.output, p_.head_dim_v * Config::rows, 0.0f);
    const std::int64_t blocks = work.highest > work.lowest ? (work.highest - work.lowest + Config::keys - 1) / Config::keys : 0;
    const std::int64_t first = work.lowest + blocks * split / splits * Config::keys;
    const std::int64_t end = std::min(work.highest, work.lowest + blocks * (split + 1) / splits * Config::keys);
    if (first >= end) return;
    tiles_.take_queries(work);
    for (std::int64_t j = first; j < end; j += Config::keys) block(work, state, j, std::min<std::int64_t>(Config::keys, end - j));
  }

  void block(const Tile& work, const State& state, std::int64_t j, std::int64_t count) const {
    const attn::flash::Scratch& room = work.room;
    const attn::flash::Scores how = tiles_.scores_of(work, j, count);
    const Matrix k = tiles_.block_of(work, tiles_.k(), j, count, p_.head_dim);
    if (!work.few) {
      tile_product_(count, work.padded(), p_.head_dim, k.data, k.line, k.column, room.q, room.scores, false);
      tile_softmax_(room.scores, count, work.padded(), how, state.most, state.total, state.output, p_.head_dim_v);
      drop(work, j, count, 1, Config::rows);
      const Matrix v = tiles_.block_of(work, tiles_.v(), j, count, p_.head_dim_v);
      tile_product_(p_.head_dim_v, work.padded(), count, v.data, v.column, v.line, room.scores, state.output, true);
      return;
    }
    few_scores_(room.q, work.count, p_.head_dim, k.data, k.line, count, room.scores);
    float factors[Config::few_rows];
    for (std::int64_t n = 0; n < work.count; ++n) {
      const auto at = [&](const float* row) { return row ? row + n : nullptr; };
      const attn::flash::Scores row{how.softcap, at(how.slopes), at(how.own), how.bias ? how.bias + n * Config::keys : nullptr, at(how.first), at(how.end)};
      few_softmax_(room.scores + n * Config::keys, count, row, state.most + n, state.total + n, factors + n);
    }
    drop(work, j, count, Config::keys, 1);
    const Matrix v = tiles_.block_of(work, tiles_.v(), j, count, p_.head_dim_v);
    for (std::int64_t n = 0; n < work.count; ++n)
      few_output_(room.scores + n * Config::keys, count, v.data, v.line, p_.head_dim_v, state.output + n * p_.head_dim_v, factors[n]);
  }

  // Dropout of a block's exponentials; their sums are already known.
  void drop(const Tile& work, std::int64_t j, std::int64_t count, std::int64_t row_step, std::int64_t key_step) const {
    if (!dropout_) return;
    for (std::int64_t n = 0; n < work.count; ++n) {
      float* const row = work.room.scores + n * row_step;
      dropout_(work.row_number(p_, n), row, row, count, j, key_step);
    }
  }

  std::int64_t row_step(const Tile& work) const { return work.few ? p_.head_dim_v : 1; }
  std::int64_t column_step(const Tile& work) const { return work.few ? 1 : Config::rows; }

  void merge(const Tile& work, const State& state, const State& other) const {
    for (std::int64_t n = 0; n < work.count; ++n) {
      float &most = state.most[n], &total = state.total[n];
      const float now = std::max(most, other.most[n]), shift = now == kMinusInfinity ? 0.0f : now;
      const float mine = std::exp(most - shift), others = std::exp(other.most[n] - shift);
      for (std::int64_t d = 0; d < p_.head_dim_v; ++d) {
        const std::int64_t at = n * row_step(work) + d * column_step(work);
        state.output[at] = state.output[at] * mine + other.output[at] * others;
      }
      total = total * mine + other.total[n] * others;
      most = now;
    }
  }

  // Divides by the sums, settles dead rows, writes output and log-sum-exp where `write`, and remembers the softmax for the backward pass.
  void finish(const Tile& work, const State& state, bool write, const Gradients* gradients) const {
    bool has_mean = false;
    for (std::int64_t n = 0; n < work.count; ++n) {
      const float total = state.total[n];
      const bool padding = work.i[n] >= rows_.queries(work.b), dead = total == 0.0f;  // a padding row sees no key
      float* line = work.room.line;
      if (!dead) {
        const float inverse = 1.0f / total;
        for (std::int64_t d = 0; d < p_.head_dim_v; ++d) line[d] = state.output[n * row_step(work) + d * column_step(work)] * inverse;
        if (gradients) backward_.remember(*gradients, work, n, line, state.most[n], total);
      } else if (padding || p_.dead_rows != ATTN_DEAD_MEAN) {
        std::fill_n(line, p_.head_dim_v, padding || p_.dead_rows == ATTN_DEAD_ZERO ? 0.0f : attn::kNaN);
      } else {
        if (!has_mean) mean_of_values(work);
        has_mean = true;
        line = work.room.mean;
      }
      if (dead && gradients) backward_.remember(*gradients, work, n, nullptr, 0.0f, 0.0f);
      if (!write) continue;
      if (!padding || !o_.only_real_rows()) attn::narrow_row(line, p_.head_dim_v, o_.at(work.b, work.h[n], work.i[n]), o_.column, o_.dtype);
      if (!lse_) continue;
      auto* lse = reinterpret_cast<float*>(static_cast<char*>(lse_->data) + lse_->byte_offset);
      lse[work.b * lse_->strides[0] + work.h[n] * lse_->strides[1] + work.i[n] * lse_->strides[2]] =
          dead ? kMinusInfinity : state.most[n] + std::log(total);
    }
  }

  void mean_of_values(const Tile& work) const {
    const std::int64_t keys = rows_.keys(work.b);
    const Strided& v = tiles_.v();
    float* mean = work.room.mean;
    std::fill_n(mean, p_.head_dim_v, 0.0f);
    for (std::int64_t j = 0; j < keys; ++j) {
      attn::widen_row(v.at(work.b, work.kv_head, j), v.column, v.dtype, p_.head_dim_v, work.room.wide);
      for (std::int64_t d = 0; d < p_.head_dim_v; ++d) mean[d] += work.room.wide[d] / static_cast<float>(keys);
    }
  }

  attn_problem p_;
  attn::flash::Tiles tiles_;
  const attn::Rows& rows_;
  Strided o_;
  const DLTensor* lse_;
  attn::Dropout dropout_;
  attn::flash::Backward backward_;
  attn::Threads threads_;
  attn::ForThisCpu<attn::flash::TileProduct> tile_product_;
  attn::ForThisCpu<attn::flash::TileSoftmax> tile_softmax_;
  attn::ForThisCpu<attn::flash::FewScores> few_scores_;
  attn::ForThisCpu<attn::flash::FewSoftmax> few_softmax_;
  attn::ForThisCpu<attn::flash::FewOutput> few_output_;
};

}  // namespace

ATTN_BACKENDS(Flash)
