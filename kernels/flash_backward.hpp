#pragma once
// The backward pass of flash.cc, which makes the probabilities again block by block (FlashAttention-2, Dao 2023, arXiv 2307.08691).
//
//   P = exp(S - most) / total    dV = P^T dO    dP = dO V^T    dS = P (dP - D), D = rowsum(dO O)    dQ = scale dS K    dK = dS^T (scale Q)
//
// With a softcap dS is times 1 - (S / cap)^2; with dropout P^T and dP are those of the kept weights. Two operations: dq by tiles of rows, then dk and dv by
// blocks of keys. The scores are made twice, but no thread adds to what another one writes: the same bits in every call. Keys that no query sees and padding
// get exactly 0. A dead row gives nothing or, by the policy mean, the mean's share to dv.

#include "dropout.hpp"
#include "flash_tiles.hpp"
#include "gradient_tensors.hpp"
#include "threads.hpp"

namespace attn::flash {

class Backward {
 public:
  // What the backward pass needs in the workspace; all null without one.
  struct Buffers {
    Buffers(Arena& arena, const attn_problem& p, int threads) {
      if (p.pass == ATTN_FORWARD) return;
      const auto of_rows = [&] { return arena.take<float>({p.batch, p.heads, p.seq_q}); };
      const auto blocks = [&](bool needed, std::int64_t lines) { return needed ? arena.take<float>({threads, lines, Config::rows}) : nullptr; };
      most = of_rows();
      inverse = of_rows();
      delta = of_rows();
      dout = blocks(true, p.head_dim_v);
      gradient = blocks(true, Config::keys);
      turned = blocks(true, Config::keys);
      kept = blocks(p.dropout > 0, Config::keys);
      bend = blocks(p.softcap != 0, Config::keys);
      sums = blocks(true, p.head_dim);
      sums_v = blocks(true, p.head_dim_v);
      part = blocks(true, std::max(p.head_dim, p.head_dim_v));
      per_row = blocks(true, 3);
      line = arena.take<float>({threads, std::max(p.head_dim, p.head_dim_v)});
    }
    float *most = nullptr, *inverse = nullptr, *delta = nullptr;       // (B, H, Sq): of the softmax, 1 / total; rowsum(dO O)
    float* dout = nullptr;                                             // (Dv, rows) of each thread, as all below
    float *gradient = nullptr, *turned = nullptr;                      // (keys, rows): dP, then dS; (rows, keys): what is summed over rows
    float *kept = nullptr, *bend = nullptr;                            // (keys, rows): 0 or 1 / (1 - p) by dropout; the softcap's derivative
    float *sums = nullptr, *sums_v = nullptr;                          // (D, rows) of dq or (D, keys) of dk; (Dv, keys) of dv
    float* part = nullptr;                                             // (D or Dv, keys): what one tile adds to dk or dv
    float* per_row = nullptr;                                          // (3, rows): most, inverse, delta of a tile
    float* line = nullptr;                                             // (D or Dv)
  };

  Backward(const attn_problem& problem, const attn_tensors& tensors, const Tiles& tiles, const Dropout& dropout)
      : p_(problem), tiling_(problem), tiles_(tiles), rows_(tiles.rows()), dropout_(dropout), gradients_(problem, tensors) {}

  // Remembers a row's softmax: `output` is its row of O; null for a row that sees nothing.
  void remember(const Buffers& buffers, const Tile& work, std::int64_t n, const float* output, float most, float total) const {
    const std::int64_t at = work.row_number(p_, n);
    buffers.most[at] = output ? most : 0.0f;
    buffers.inverse[at] = output ? 1.0f / total : 0.0f;
    float sum = 0;
    if (output) {
      widen_row(gradients_.dout.at(work.b, work.h[n], work.i[n]), gradients_.dout.column, gradients_.dout.dtype, p_.head_dim_v, work.room.wide);
      for (std::int64_t d = 0; d < p_.head_dim_v; ++d) sum += work.room.wide[d] * output[d];
    }
    buffers.delta[at] = sum;
  }

  // dq of a tile, all of whose rows are remembered.
  void queries(const Buffers& buffers, const Tile& work, int thread) const {
    const Room room(buffers, p_, thread);
    std::fill_n(room.sums, p_.head_dim * Config::rows, 0.0f);
    take(buffers, work, room);
    for (std::int64_t j = work.lowest; j < work.highest; j += Config::keys) {
      const std::int64_t count = std::min<std::int64_t>(Config::keys, work.highest - j);
      weights(work, j, count, room);
      score_gradient(work, j, count, room);
      const Matrix k = tiles_.block_of(work, tiles_.k(), j, count, p_.head_dim);
      product_(p_.head_dim, work.padded(), count, k.data, k.column, k.line, room.gradient, room.sums, true);
    }
    const auto scale = static_cast<float>(p_.scale);
    for (std::int64_t n = 0; n < work.count; ++n) {
      if (gradients_.dq.only_real_rows() && work.i[n] >= rows_.queries(work.b)) continue;
      for (std::int64_t d = 0; d < p_.head_dim; ++d) room.line[d] = room.sums[d * Config::rows + n] * scale;
      narrow_row(room.line, p_.head_dim, gradients_.dq.at(work.b, work.h[n], work.i[n]), gradients_.dq.column, gradients_.dq.dtype);
    }
  }

  std::int64_t key_blocks() const { return p_.batch * p_.heads_kv * blocks_per_head(); }

  // dk and dv of a block of keys; every row is remembered.
  void keys(const Buffers& buffers, std::int64_t block, const Scratch& scratch, int thread) const {
    const Room room(buffers, p_, thread);
    const std::int64_t group = block / blocks_per_head(), b = group / p_.heads_kv, kv_head = group % p_.heads_kv;
    const std::int64_t j = block % blocks_per_head() * Config::keys, all = std::min<std::int64_t>(Config::keys, p_.seq_kv - j);
    const std::int64_t count = std::clamp<std::int64_t>(rows_.keys(b) - j, 0, all);
    std::fill_n(room.sums, p_.head_dim * Config::keys, 0.0f);
    std::fill_n(room.sums_v, p_.head_dim_v * Config::keys, 0.0f);
    for (std::int64_t t = 0; t < tiling_.tiles_per_group && count > 0; ++t) {
      const Tile work = tiles_.start(group * tiling_.tiles_per_group + t, scratch);
      if (p_.dead_rows == ATTN_DEAD_MEAN) add_means(buffers, work, count, room);
      if (work.lowest < j + count && work.highest > j) add_tile(buffers, work, j, count, room);
    }
    write(room.sums, p_.head_dim, gradients_.dk, b, kv_head, j, count, all, room.line);
    write(room.sums_v, p_.head_dim_v, gradients_.dv, b, kv_head, j, count, all, room.line);
  }

 private:
  struct Room {
    Room(const Buffers& all, const attn_problem& p, std::int64_t thread) {
      constexpr std::int64_t kBlock = Config::keys * Config::rows;
      const auto mine = [&](float* of_all, std::int64_t floats) { return of_all ? of_all + thread * floats : nullptr; };
      dout = mine(all.dout, p.head_dim_v * Config::rows);
      gradient = mine(all.gradient, kBlock);
      turned = mine(all.turned, kBlock);
      kept = mine(all.kept, kBlock);
      bend = mine(all.bend, kBlock);
      sums = mine(all.sums, p.head_dim * Config::rows);
      sums_v = mine(all.sums_v, p.head_dim_v * Config::rows);
      part = mine(all.part, std::max(p.head_dim, p.head_dim_v) * Config::rows);
      most = mine(all.per_row, 3 * Config::rows);
      inverse = most + Config::rows;
      delta = inverse + Config::rows;
      line = mine(all.line, std::max(p.head_dim, p.head_dim_v));
    }
    float *dout, *gradient, *turned, *kept, *bend, *sums, *sums_v, *part, *most, *inverse, *delta, *line;
  };

  std::int64_t blocks_per_head() const { return (p_.seq_kv + Config::keys - 1) / Config::keys; }

  // Queries, dout and what is remembered of the tile's rows.
  void take(const Buffers& buffers, const Tile& work, const Room& room) const {
    tiles_.take_queries(work);
    tiles_.take_rows(work, gradients_.dout, p_.head_dim_v, 1.0f, room.dout);
    for (std::int64_t n = 0; n < work.padded(); ++n) {
      const std::int64_t at = n < work.count ? work.row_number(p_, n) : -1;
      room.most[n] = at < 0 ? 0.0f : buffers.most[at];
      room.inverse[n] = at < 0 ? 0.0f : buffers.inverse[at];
      room.delta[n] = at < 0 ? 0.0f : buffers.delta[at];
    }
  }

  // P of a block, before dropout, in work.room.scores; what dropout keeps and the softcap's derivative in `room`.
  void weights(const Tile& work, std::int64_t j, std::int64_t count, const Room& room) const {
    const Scores how = tiles_.scores_of(work, j, count);
    const Matrix k = tiles_.block_of(work, tiles_.k(), j, count, p_.head_dim);
    product_(count, work.padded(), p_.head_dim, k.data, k.line, k.column, work.room.q, work.room.scores, false);
    probabilities_(work.room.scores, count, work.padded(), how, room.most, room.inverse, room.bend);
    if (!room.kept) return;
    std::fill_n(room.kept, count * Config::rows, 1.0f);
    for (std::int64_t n = 0; n < work.count; ++n) dropout_(work.row_number(p_, n), room.kept + n, room.kept + n, count, j, Config::rows);
  }

  // dS of a block, whose P is known, in room.gradient.
  void score_gradient(const Tile& work, std::int64_t j, std::int64_t count, const Room& room) const {
    const Matrix v = tiles_.block_of(work, tiles_.v(), j, count, p_.head_dim_v);
    product_(count, work.padded(), p_.head_dim_v, v.data, v.line, v.column, room.dout, room.gradient, false);
    gradient_(work.room.scores, room.gradient, count, work.padded(), room.kept, room.delta, room.bend);
  }

  void add_tile(const Buffers& buffers, const Tile& work, std::int64_t j, std::int64_t count, const Room& room) const {
    take(buffers, work, room);
    weights(work, j, count, room);
    turn(work.room.scores, room.kept, count, work.count, room.turned);
    add_rows(room.dout, p_.head_dim_v, work, count, room, room.sums_v);
    score_gradient(work, j, count, room);
    turn(room.gradient, nullptr, count, work.count, room.turned);
    add_rows(work.room.q, p_.head_dim, work, count, room, room.sums);
  }

  // Adds left (columns, rows) times room.turned (rows, keys) to `sums` (columns, keys): a sum of sums of one tile each, because one sum over all rows of all
  // heads would round several times worse.
  void add_rows(const float* left, std::int64_t columns, const Tile& work, std::int64_t count, const Room& room, float* sums) const {
    product_(columns, padded_keys(count), work.count, left, Config::rows, 1, room.turned, room.part, false);
    for (std::int64_t d = 0; d < columns; ++d)
      for (std::int64_t key = 0; key < count; ++key) sums[d * Config::keys + key] += room.part[d * Config::keys + key];
  }

  // The mean of all values gives each of them an equal share of dout.
  void add_means(const Buffers& buffers, const Tile& work, std::int64_t count, const Room& room) const {
    const float share = 1.0f / static_cast<float>(rows_.keys(work.b));
    std::fill_n(room.line, p_.head_dim_v, 0.0f);
    for (std::int64_t n = 0; n < work.count; ++n) {
      if (buffers.inverse[work.row_number(p_, n)] != 0.0f || work.i[n] >= rows_.queries(work.b)) continue;
      widen_row(gradients_.dout.at(work.b, work.h[n], work.i[n]), gradients_.dout.column, gradients_.dout.dtype, p_.head_dim_v, work.room.wide);
      for (std::int64_t d = 0; d < p_.head_dim_v; ++d) room.line[d] += work.room.wide[d];
    }
    for (std::int64_t d = 0; d < p_.head_dim_v; ++d)
      for (std::int64_t key = 0; key < count; ++key) room.sums_v[d * Config::keys + key] += room.line[d] * share;
  }

  static std::int64_t padded_keys(std::int64_t count) { return (count + 15) / 16 * 16; }

  // to (rows, keys) = from (keys, rows), times `factors` unless they are null; keys up to whole vectors are 0.
  static void turn(const float* from, const float* factors, std::int64_t keys, std::int64_t rows, float* to) {
    for (std::int64_t n = 0; n < rows; ++n) {
      for (std::int64_t key = 0; key < keys; ++key) {
        const std::int64_t at = key * Config::rows + n;
        to[n * Config::keys + key] = factors ? from[at] * factors[at] : from[at];
      }
      std::fill(to + n * Config::keys + keys, to + n * Config::keys + padded_keys(keys), 0.0f);
    }
  }

  // Sums (columns, keys) to rows j .. j + all - 1; those past `count` are padding.
  static void write(const float* sums, std::int64_t columns, const Strided& to, std::int64_t b, std::int64_t kv_head, std::int64_t j, std::int64_t count,
                    std::int64_t all, float* line) {
    for (std::int64_t n = 0; n < (to.only_real_rows() ? count : all); ++n) {
      for (std::int64_t d = 0; d < columns; ++d) line[d] = n < count ? sums[d * Config::keys + n] : 0.0f;
      narrow_row(line, columns, to.at(b, kv_head, j + n), to.column, to.dtype);
    }
  }

  attn_problem p_;
  Tiling tiling_;
  const Tiles& tiles_;
  const Rows& rows_;
  const Dropout& dropout_;
  GradientTensors gradients_;
  ForThisCpu<TileProduct> product_;
  ForThisCpu<TileProbabilities> probabilities_;
  ForThisCpu<TileGradient> gradient_;
};

}  // namespace attn::flash
