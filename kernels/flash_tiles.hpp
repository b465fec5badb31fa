#pragma once
// A tile of query rows of flash.cc and what passes go through with it: which keys its rows see, its queries, blocks of keys and values, and what happens to
// their scores.

#include "flash_blocks.hpp"

namespace attn::flash {

// The room of one thread.
struct Scratch {
  float* q;                                // tile: (D, rows); few: (rows, D)
  float* scores;                           // tile: (keys, rows); few: (rows, keys)
  float* bias;                             // like scores
  float* wide;                             // (keys, D or Dv)
  float* line;                             // (Dv)
  float* mean;                             // (Dv)
  float *slopes, *own, *first, *end;       // (rows)
};

class Scratches {
 public:
  Scratches(Arena& arena, const attn_problem& p, int threads) : head_dim_(p.head_dim), width_(p.head_dim_v), widest_(std::max(p.head_dim, p.head_dim_v)) {
    q_ = arena.take<float>({threads, p.head_dim, Config::rows});
    scores_ = arena.take<float>({threads, Config::keys, Config::rows});
    bias_ = p.mask_kind == ATTN_MASK_TENSOR ? arena.take<float>({threads, Config::keys, Config::rows}) : nullptr;
    wide_ = arena.take<float>({threads, Config::keys, widest_});
    lines_ = arena.take<float>({threads, 2, p.head_dim_v});
    per_row_ = arena.take<float>({threads, 4, Config::rows});
  }
  Scratch of(std::int64_t thread) const {
    constexpr std::int64_t kBlock = Config::keys * Config::rows;
    float* rows = per_row_ + thread * 4 * Config::rows;
    return {q_ + thread * head_dim_ * Config::rows, scores_ + thread * kBlock, bias_ ? bias_ + thread * kBlock : nullptr, wide_ + thread * Config::keys * widest_,
            lines_ + thread * 2 * width_, lines_ + (thread * 2 + 1) * width_, rows, rows + Config::rows, rows + 2 * Config::rows, rows + 3 * Config::rows};
  }

 private:
  std::int64_t head_dim_, width_, widest_;
  float *q_, *scores_, *bias_, *wide_, *lines_, *per_row_;
};

// Rows that share one KV head. Row n is query `i` of head `h`.
struct Tile {
  std::int64_t b, kv_head, first_row, count;
  bool few;
  Scratch room;
  std::int64_t lowest = 0, highest = 0;             // keys that some row sees
  std::int64_t all_first = 0, all_end = 0;          // keys that every row sees
  std::int64_t h[Config::rows], i[Config::rows];
  Keys keys[Config::rows];

  // Rows in whole vectors, for loops over a tile.
  std::int64_t padded() const { return (count + 15) / 16 * 16; }
  std::int64_t row_number(const attn_problem& p, std::int64_t n) const { return (b * p.heads + h[n]) * p.seq_q + i[n]; }
};

// How rows are cut into tiles; known before the tensors are.
struct Tiling {
  explicit Tiling(const attn_problem& p)
      : rows_per_group(p.heads / p.heads_kv * p.seq_q),
        few(p.pass == ATTN_FORWARD && rows_per_group <= Config::few_rows),
        tiles_per_group((rows_per_group + Config::rows - 1) / Config::rows),
        tiles(p.batch * p.heads_kv * tiles_per_group) {}
  std::int64_t rows_per_group;
  bool few;
  std::int64_t tiles_per_group, tiles;
};

struct Matrix {
  const float* data;
  std::int64_t line, column;
};

class Tiles {
 public:
  Tiles(const attn_problem& problem, const attn_tensors& tensors)
      : p_(problem), tiling_(problem), rows_(problem, tensors), q_(Strided::of_queries(*tensors.q, problem, tensors)),
        k_(Strided::of_keys(*tensors.k, problem, tensors)), v_(Strided::of_keys(*tensors.v, problem, tensors)) {}

  const Rows& rows() const { return rows_; }
  const Strided& k() const { return k_; }
  const Strided& v() const { return v_; }

  Tile start(std::int64_t tile, const Scratch& room) const {
    Tile work;
    const std::int64_t group = tile / tiling_.tiles_per_group;
    work.b = group / p_.heads_kv;
    work.kv_head = group % p_.heads_kv;
    work.first_row = tile % tiling_.tiles_per_group * Config::rows;
    work.count = std::min<std::int64_t>(Config::rows, tiling_.rows_per_group - work.first_row);
    work.few = tiling_.few;
    work.room = room;
    work.lowest = work.all_end = p_.seq_kv;
    for (std::int64_t n = 0; n < work.count; ++n) {
      work.h[n] = work.kv_head * rows_.group() + (work.first_row + n) / p_.seq_q;
      work.i[n] = (work.first_row + n) % p_.seq_q;
      const Keys keys = work.keys[n] = rows_.visible(work.b, work.i[n]);
      if (keys.end > keys.first) {
        work.lowest = std::min(work.lowest, keys.first);
        work.highest = std::max(work.highest, keys.end);
      }
      work.all_first = std::max(work.all_first, keys.first);
      work.all_end = std::min(work.all_end, keys.end);
    }
    return work;
  }

  // Queries of the tile, scaled, to room.q.
  void take_queries(const Tile& work) const { take_rows(work, q_, p_.head_dim, static_cast<float>(p_.scale), work.room.q); }

  // factor * rows of q or dout: (columns, rows) for a tile, (rows, columns) for few; padding counts as 0. Uses room.wide.
  void take_rows(const Tile& work, const Strided& from, std::int64_t columns, float factor, float* to) const {
    float* line = work.room.wide;
    const std::int64_t line_step = work.few ? columns : 1, element_step = work.few ? 1 : Config::rows;
    for (std::int64_t n = 0; n < (work.few ? work.count : work.padded()); ++n) {
      if (n < work.count && work.i[n] < rows_.queries(work.b)) widen_row(from.at(work.b, work.h[n], work.i[n]), from.column, from.dtype, columns, line);
      else std::fill_n(line, columns, 0.0f);
      for (std::int64_t d = 0; d < columns; ++d) to[n * line_step + d * element_step] = line[d] * factor;
    }
  }

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

  // Fills the thread's room with what this block's scores need.
  Scores scores_of(const Tile& work, std::int64_t j, std::int64_t count) const {
    const bool clip = j < work.all_first || j + count > work.all_end;
    const Scratch& room = work.room;
    const bool mask = rows_.has_bool_mask() || rows_.has_additive_mask();
    for (std::int64_t n = 0; n < (work.few ? work.count : work.padded()); ++n) {
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

 private:
  attn_problem p_;
  Tiling tiling_;
  Rows rows_;
  Strided q_, k_, v_;
  ForThisCpu<WidenRows> widen_;
};

}  // namespace attn::flash
