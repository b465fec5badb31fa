// Blocked attention with an online softmax on the CPU: one operation, and nothing of size seq_q x seq_kv is ever stored.
//
// The loop order is FlashAttention-2's (Dao 2023, arXiv 2307.08691): a tile of query rows stays, blocks of keys pass by; blocks that causality or a
// window hides are never touched. The query heads that share a KV head are rows of the same tile, so that grouped heads read their keys once. When there
// are fewer tiles than threads could use (decoding), the keys are split too and the parts are merged by their maxima and sums. 16-bit inputs are widened
// block by block, and a block of keys that crosses pages is gathered so; else ragged and paged keys are read where they lie. Gains: memory linear in the
// sequence; half the work of the chain when causal; at decoding scores never leave the cache and K and V are read once per group. Loses: a plain loop of
// products instead of a tuned BLAS. On two busy cores (AMD EPYC, AVX-512) against naive, tests/speed: prefill S1024 D128 0.9 of its time, causal 0.5,
// decoding 4096 keys in groups of 4 heads 0.3, in bf16 0.3, without groups 0.5.

#include "flash_blocks.hpp"
#include "threads.hpp"

namespace {

using attn::kMinusInfinity;
using attn::Strided;
using attn::flash::Config;

class Flash {
 public:
  static constexpr attn::BackendInfo info{
      .name = "flash",
      .can = ATTN_CAN_FP32 | ATTN_CAN_FP16 | ATTN_CAN_BF16 | ATTN_CAN_MIXED_KV | ATTN_CAN_GQA | ATTN_CAN_HEAD_DIM_V | ATTN_CAN_CAUSAL |
             ATTN_CAN_ALIGN_TOP_LEFT | ATTN_CAN_ALIGN_BOTTOM_RIGHT | ATTN_CAN_WINDOW | ATTN_CAN_SOFTCAP | ATTN_CAN_SCALE | ATTN_CAN_ALIBI |
             ATTN_CAN_MASK_BOOL | ATTN_CAN_MASK_ADDITIVE | ATTN_CAN_LENGTHS | ATTN_CAN_RAGGED | ATTN_CAN_PAGED | ATTN_CAN_DETERMINISTIC | ATTN_CAN_STRIDED |
             ATTN_CAN_DEAD_ZERO | ATTN_CAN_DEAD_NAN | ATTN_CAN_DEAD_MEAN | ATTN_CAN_LSE,
      .flags = ATTN_FLAG_REPORTS_OPS};

  static attn::Support supports(const attn_problem& problem, const attn_device_facts& device) {
    attn::Arena count;
    Layout(count, problem, attn::threads_of(device));
    return attn::fitting(count.used(), device);
  }

  Flash(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : p_(problem),
        rows_(problem, tensors),
        q_(Strided::of_queries(*tensors.q, problem, tensors)),
        k_(Strided::of_keys(*tensors.k, problem, tensors)),
        v_(Strided::of_keys(*tensors.v, problem, tensors)),
        o_(Strided::of_queries(*tensors.o, problem, tensors)),
        lse_(tensors.lse),
        threads_(attn::threads_of(device)) {
    options.allow({});
  }

  void run(const attn_call& call) {
    attn::Arena arena(call.workspace);
    const Layout layout(arena, p_, threads_.count());
    if (arena.used() > call.workspace_bytes) throw std::runtime_error("the workspace is smaller than supports asked for");
    const attn::Op op(call, ATTN_OP_KERNEL, "flash_fwd_cpu");
    // Last rows first: with a causal mask they are the longest.
    threads_.each(layout.tiles * layout.splits, [&](std::int64_t task, int thread) {
      const std::int64_t tile = layout.tiles - 1 - task / layout.splits, split = task % layout.splits;
      Tile work = start(layout, tile, thread);
      work.state = layout.splits > 1 ? layout.state(tile * layout.splits + split) : layout.state(thread);
      attend(work, split, layout.splits);
      if (layout.splits == 1) finish(work);
    });
    if (layout.splits == 1) return;
    threads_.each(layout.tiles, [&](std::int64_t tile, int thread) {
      Tile work = start(layout, tile, thread);
      work.state = layout.state(tile * layout.splits);
      for (std::int64_t split = 1; split < layout.splits; ++split) merge(work, layout.state(tile * layout.splits + split));
      finish(work);
    });
  }

 private:
  // What the online softmax knows of a tile: output (transposed in a full tile), running maximum and sum of each row.
  struct State {
    float *output, *most, *total;
  };
  // The room of one thread.
  struct Scratch {
    float* q;                                            // tile: (D, rows); few: (rows, D)
    float* scores;                                       // tile: (keys, rows); few: (rows, keys)
    float* bias;                                         // like scores
    float* wide;                                         // (keys, D or Dv)
    float* line;                                         // (Dv)
    float* mean;                                         // (Dv)
    float *slopes, *own, *first, *end;                   // (rows)
  };
  struct Layout {
    Layout(attn::Arena& arena, const attn_problem& p, int threads) {
      rows_per_group = p.heads / p.heads_kv * p.seq_q;
      few = rows_per_group <= Config::few_rows;
      tiles_per_group = (rows_per_group + Config::rows - 1) / Config::rows;
      tiles = p.batch * p.heads_kv * tiles_per_group;
      constexpr std::int64_t kSplitKeys = 256;  // a part shorter than this costs more to merge than it saves
      const std::int64_t wanted = (2 * threads + tiles - 1) / tiles;
      splits = tiles >= 2 * threads ? 1 : std::max<std::int64_t>(1, std::min(wanted, p.seq_kv / kSplitKeys));
      const std::int64_t states = splits > 1 ? tiles * splits : threads;
      state_floats = (p.head_dim_v + 2) * Config::rows;
      width = p.head_dim_v;
      state_room = arena.take<float>({states, state_floats});
      const std::int64_t widest = std::max(p.head_dim, p.head_dim_v);
      q = arena.take<float>({threads, p.head_dim, Config::rows});
      scores = arena.take<float>({threads, Config::keys, Config::rows});
      bias = p.mask_kind == ATTN_MASK_TENSOR ? arena.take<float>({threads, Config::keys, Config::rows}) : nullptr;
      wide = arena.take<float>({threads, Config::keys, widest});
      lines = arena.take<float>({threads, 2, p.head_dim_v});
      per_row = arena.take<float>({threads, 4, Config::rows});
      head_dim = p.head_dim;
      wide_floats = Config::keys * widest;
    }
    State state(std::int64_t n) const {
      float* room = state_room + n * state_floats;
      return {room, room + width * Config::rows, room + (width + 1) * Config::rows};
    }
    Scratch scratch(std::int64_t thread) const {
      constexpr std::int64_t kBlock = Config::keys * Config::rows;
      float* rows = per_row + thread * 4 * Config::rows;
      return {q + thread * head_dim * Config::rows, scores + thread * kBlock, bias ? bias + thread * kBlock : nullptr, wide + thread * wide_floats,
              lines + thread * 2 * width, lines + (thread * 2 + 1) * width, rows, rows + Config::rows, rows + 2 * Config::rows, rows + 3 * Config::rows};
    }
    bool few;
    std::int64_t rows_per_group, tiles_per_group, tiles, splits, state_floats, width, head_dim, wide_floats;
    float *state_room, *q, *scores, *bias, *wide, *lines, *per_row;
  };
  // A tile of rows that share one KV head. Row n is query `i` of head `h`.
  struct Tile {
    std::int64_t b, kv_head, first_row, count;
    bool few;
    Scratch room;
    State state;
    std::int64_t lowest = 0, highest = 0;             // keys that some row sees
    std::int64_t all_first = 0, all_end = 0;          // keys that every row sees
    std::int64_t h[Config::rows], i[Config::rows];
    attn::Keys keys[Config::rows];
  };

  Tile start(const Layout& layout, std::int64_t tile, int thread) const {
    Tile work;
    const std::int64_t group = tile / layout.tiles_per_group;
    work.b = group / p_.heads_kv;
    work.kv_head = group % p_.heads_kv;
    work.first_row = tile % layout.tiles_per_group * Config::rows;
    work.count = std::min<std::int64_t>(Config::rows, layout.rows_per_group - work.first_row);
    work.few = layout.few;
    work.room = layout.scratch(thread);
    work.lowest = work.all_end = p_.seq_kv;
    for (std::int64_t n = 0; n < work.count; ++n) {
      work.h[n] = work.kv_head * rows_.group() + (work.first_row + n) / p_.seq_q;
      work.i[n] = (work.first_row + n) % p_.seq_q;
      const attn::Keys keys = work.keys[n] = rows_.visible(work.b, work.i[n]);
      if (keys.end > keys.first) {
        work.lowest = std::min(work.lowest, keys.first);
        work.highest = std::max(work.highest, keys.end);
      }
      work.all_first = std::max(work.all_first, keys.first);
      work.all_end = std::min(work.all_end, keys.end);
    }
    return work;
  }

  // Rows in whole vectors, for loops over a tile.
  static std::int64_t padded(const Tile& work) { return (work.count + 15) / 16 * 16; }

  void attend(Tile& work, std::int64_t split, std::int64_t splits) const {
    std::fill_n(work.state.most, Config::rows, kMinusInfinity);
    std::fill_n(work.state.total, Config::rows, 0.0f);
    std::fill_n(work.state.output, p_.head_dim_v * Config::rows, 0.0f);
    const std::int64_t blocks = work.highest > work.lowest ? (work.highest - work.lowest + Config::keys - 1) / Config::keys : 0;
    const std::int64_t first = work.lowest + blocks * split / splits * Config::keys;
    const std::int64_t end = std::min(work.highest, work.lowest + blocks * (split + 1) / splits * Config::keys);
    if (first >= end) return;
    take_queries(work);
    for (std::int64_t j = first; j < end; j += Config::keys) block(work, j, std::min<std::int64_t>(Config::keys, end - j));
  }

  // Queries of the tile, scaled: (D, rows) for a tile, (rows, D) for few.
  void take_queries(const Tile& work) const {
    const auto scale = static_cast<float>(p_.scale);
    float* line = work.room.wide;
    const std::int64_t line_step = work.few ? p_.head_dim : 1, element_step = work.few ? 1 : Config::rows;
    for (std::int64_t n = 0; n < (work.few ? work.count : padded(work)); ++n) {
      if (n < work.count && work.i[n] < rows_.queries(work.b)) attn::widen_row(q_.at(work.b, work.h[n], work.i[n]), q_.column, q_.dtype, p_.head_dim, line);
      else std::fill_n(line, p_.head_dim, 0.0f);
      for (std::int64_t d = 0; d < p_.head_dim; ++d) work.room.q[n * line_step + d * element_step] = line[d] * scale;
    }
  }

  struct Matrix {
    const float* data;
    std::int64_t line, column;
  };
  // Keys [j, j + count) of K or V: where they lie if that is fp32 and in one page, else widened and gathered. Few rows need unit stride.
  Matrix block_of(const Tile& work, const Strided& from, std::int64_t j, std::int64_t count, std::int64_t columns) const {
    if (from.dtype == ATTN_FP32 && (from.column == 1 || !work.few) && from.together(j) >= count) return {from.floats(work.b, work.kv_head, j), from.row, from.column};
    for (std::int64_t n = 0; n < count;) {
      const std::int64_t lines = std::min(from.together(j + n), count - n);
      widen_(from, from.at(work.b, work.kv_head, j + n), lines, columns, work.room.wide + n * columns);
      n += lines;
    }
    return {work.room.wide, columns, 1};
  }

  void block(const Tile& work, std::int64_t j, std::int64_t count) const {
    const bool clip = j < work.all_first || j + count > work.all_end;
    const Scratch& room = work.room;
    const attn::flash::Scores how = scores_of(work, j, count, clip);
    const Matrix k = block_of(work, k_, j, count, p_.head_dim);
    if (!work.few) {
      tile_product_(count, padded(work), p_.head_dim, k.data, k.line, k.column, room.q, room.scores, false);
      tile_softmax_(room.scores, count, padded(work), how, work.state.most, work.state.total, work.state.output, p_.head_dim_v);
      const Matrix v = block_of(work, v_, j, count, p_.head_dim_v);
      tile_product_(p_.head_dim_v, padded(work), count, v.data, v.column, v.line, room.scores, work.state.output, true);
      return;
    }
    few_scores_(room.q, work.count, p_.head_dim, k.data, k.line, count, room.scores);
    float factors[Config::few_rows];
    for (std::int64_t n = 0; n < work.count; ++n) {
      const auto at = [&](const float* row) { return row ? row + n : nullptr; };
      const attn::flash::Scores row{how.softcap, at(how.slopes), at(how.own), how.bias ? how.bias + n * Config::keys : nullptr, at(how.first), at(how.end)};
      few_softmax_(room.scores + n * Config::keys, count, row, work.state.most + n, work.state.total + n, factors + n);
    }
    const Matrix v = block_of(work, v_, j, count, p_.head_dim_v);
    for (std::int64_t n = 0; n < work.count; ++n)
      few_output_(room.scores + n * Config::keys, count, v.data, v.line, p_.head_dim_v, work.state.output + n * p_.head_dim_v, factors[n]);
  }

  // Fills the thread's room with what this block's scores need.
  attn::flash::Scores scores_of(const Tile& work, std::int64_t j, std::int64_t count, bool clip) const {
    const Scratch& room = work.room;
    const bool mask = rows_.has_bool_mask() || rows_.has_additive_mask();
    for (std::int64_t n = 0; n < (work.few ? work.count : padded(work)); ++n) {
      const bool real = n < work.count;
      if (rows_.has_alibi()) {
        room.slopes[n] = real ? rows_.slope(work.h[n]) : 0.0f;
        room.own[n] = real ? static_cast<float>(work.i[n] + rows_.offset(work.b) - j) : 0.0f;
      }
      if (clip) {
        const auto within = [&](std::int64_t key) { return static_cast<float>(std::clamp<std::int64_t>(key - j, -1, Config::keys)); };
        room.first[n] = real ? within(work.keys[n].first) : 0.0f;
        room.end[n] = real ? within(work.keys[n].end) : 0.0f;
      }
      if (!mask) continue;
      float* bias = work.few ? room.bias + n * Config::keys : room.bias + n;
      const std::int64_t step = work.few ? 1 : Config::rows;
      if (real) rows_.mask_row(work.b, work.h[n], work.i[n], j, count, bias, step);
      else
        for (std::int64_t key = 0; key < count; ++key) bias[key * step] = 0.0f;
    }
    const auto used = [](bool needed, const float* data) { return needed ? data : nullptr; };
    return {static_cast<float>(p_.softcap), used(rows_.has_alibi(), room.slopes), used(rows_.has_alibi(), room.own), used(mask, room.bias),
            used(clip, room.first),         used(clip, room.end)};
  }

  std::int64_t row_step(const Tile& work) const { return work.few ? p_.head_dim_v : 1; }
  std::int64_t column_step(const Tile& work) const { return work.few ? 1 : Config::rows; }

  void merge(const Tile& work, const State& other) const {
    for (std::int64_t n = 0; n < work.count; ++n) {
      float &most = work.state.most[n], &total = work.state.total[n];
      const float now = std::max(most, other.most[n]), shift = now == kMinusInfinity ? 0.0f : now;
      const float mine = std::exp(most - shift), others = std::exp(other.most[n] - shift);
      for (std::int64_t d = 0; d < p_.head_dim_v; ++d) {
        const std::int64_t at = n * row_step(work) + d * column_step(work);
        work.state.output[at] = work.state.output[at] * mine + other.output[at] * others;
      }
      total = total * mine + other.total[n] * others;
      most = now;
    }
  }

  // Divides by the sums, settles dead rows, writes output and log-sum-exp.
  void finish(const Tile& work) const {
    bool has_mean = false;
    for (std::int64_t n = 0; n < work.count; ++n) {
      const float total = work.state.total[n];
      const bool padding = work.i[n] >= rows_.queries(work.b), dead = total == 0.0f;  // a padding row sees no key
      float* line = work.room.line;
      if (!dead) {
        const float inverse = 1.0f / total;
        for (std::int64_t d = 0; d < p_.head_dim_v; ++d) line[d] = work.state.output[n * row_step(work) + d * column_step(work)] * inverse;
      } else if (padding || p_.dead_rows != ATTN_DEAD_MEAN) {
        std::fill_n(line, p_.head_dim_v, padding || p_.dead_rows == ATTN_DEAD_ZERO ? 0.0f : attn::kNaN);
      } else {
        if (!has_mean) mean_of_values(work);
        has_mean = true;
        line = work.room.mean;
      }
      if (!padding || !o_.only_real_rows()) attn::narrow_row(line, p_.head_dim_v, o_.at(work.b, work.h[n], work.i[n]), o_.column, o_.dtype);
      if (!lse_) continue;
      auto* lse = reinterpret_cast<float*>(static_cast<char*>(lse_->data) + lse_->byte_offset);
      lse[work.b * lse_->strides[0] + work.h[n] * lse_->strides[1] + work.i[n] * lse_->strides[2]] =
          dead ? kMinusInfinity : work.state.most[n] + std::log(total);
    }
  }

  void mean_of_values(const Tile& work) const {
    const std::int64_t keys = rows_.keys(work.b);
    float* mean = work.room.mean;
    std::fill_n(mean, p_.head_dim_v, 0.0f);
    for (std::int64_t j = 0; j < keys; ++j) {
      attn::widen_row(v_.at(work.b, work.kv_head, j), v_.column, v_.dtype, p_.head_dim_v, work.room.wide);
      for (std::int64_t d = 0; d < p_.head_dim_v; ++d) mean[d] += work.room.wide[d] / static_cast<float>(keys);
    }
  }

  attn_problem p_;
  attn::Rows rows_;
  Strided q_, k_, v_, o_;
  const DLTensor* lse_;
  attn::Threads threads_;
  attn::ForThisCpu<attn::flash::TileProduct> tile_product_;
  attn::ForThisCpu<attn::flash::TileSoftmax> tile_softmax_;
  attn::ForThisCpu<attn::flash::FewScores> few_scores_;
  attn::ForThisCpu<attn::flash::FewSoftmax> few_softmax_;
  attn::ForThisCpu<attn::flash::FewOutput> few_output_;
  attn::ForThisCpu<attn::flash::WidenRows> widen_;
};

}  // namespace

ATTN_BACKENDS(Flash)
