#pragma once
// What both passes of chain.hpp are made of: loops over rows, copies between a tensor and what BLAS can read or write, and the products.

#include "blas.hpp"
#include "threads.hpp"

namespace attn {

// One row of the scores, or of what has their shape: (B, H, Sq, Skv).
struct ScoreRow {
  std::int64_t b, h, i, number;  // number: counted over (B, H, Sq)
  float* data;                   // (Skv)
  int thread;
};

// The queries' or the keys' side of the scores, as the tensors there have it.
struct Side {
  std::int64_t heads, rows;
  std::int64_t (Rows::*length)(std::int64_t) const;  // rows of one sequence that are no padding
};

// What a copy between a tensor and a dense fp32 one is called.
struct CopyNames {
  const char *cast, *copy;  // of 16 bits; of fp32
};

// Takes the room of dense fp32 tensors (B, heads, rows, columns) from the workspace; null when one is not needed.
struct DenseRoom {
  float* operator()(bool needed, std::int64_t heads, std::int64_t rows, std::int64_t columns) const {
    return needed ? arena.take<float>({batch, heads, rows, columns}) : nullptr;
  }
  Arena& arena;
  std::int64_t batch;
};

class ChainOperations {
 public:
  // Both must outlive it.
  ChainOperations(const Rows& rows, Threads& threads) : rows_(rows), p_(rows.problem()), threads_(threads) {}

  Side queries() const { return {p_.heads, p_.seq_q, &Rows::queries}; }
  Side keys() const { return {p_.heads_kv, p_.seq_kv, &Rows::keys}; }

  // Calls body(b, h, s, thread) for every row of (batch, heads, rows, columns).
  template <class Body>
  void each_index(std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t columns, const Body& body) {
    constexpr std::int64_t kElements = 1 << 14;  // fewer are not worth another thread
    threads_.ranges(batch * heads * rows, kElements / std::max<std::int64_t>(columns, 1), [&](std::int64_t first, std::int64_t end, int thread) {
      for (std::int64_t n = first; n < end; ++n) body(n / (heads * rows), n / rows % heads, n % rows, thread);
    });
  }

  // Calls body(ScoreRow) for every row of `scores`, as one operation.
  template <class Body>
  void each_row(const attn_call& call, const char* name, float* scores, const Body& body) {
    const Op op(call, ATTN_OP_KERNEL, name);
    each_index(p_.batch, p_.heads, p_.seq_q, p_.seq_kv, [&](std::int64_t b, std::int64_t h, std::int64_t i, int thread) {
      const std::int64_t number = (b * p_.heads + h) * p_.seq_q + i;
      body(ScoreRow{b, h, i, number, scores + number * p_.seq_kv, thread});
    });
  }

  void scale_scores(const attn_call& call, const char* name, float* scores) {
    const auto scale = static_cast<float>(p_.scale);
    each_row(call, name, scores, [&](const ScoreRow& row) {
      for (std::int64_t j = 0; j < p_.seq_kv; ++j) row.data[j] *= scale;
    });
  }

  // to = from times sqrt(|scale|), on the queries' side times the scale's sign too. `to` is dense, or both are one that BLAS can write. Padding stays.
  void scale_by_root(const attn_call& call, const char* name, const Strided& from, const Strided& to, const Side& side) {
    const Op op(call, ATTN_OP_KERNEL, name);
    const auto root = static_cast<float>(std::sqrt(std::fabs(p_.scale)));
    const float factor = side.length == &Rows::queries && std::signbit(p_.scale) ? -root : root;
    each_real_row(side, p_.head_dim, false, [&](std::int64_t b, std::int64_t h, std::int64_t s) {
      const float* const source = from.floats(b, h, s);
      float* const row = to.floats(b, h, s);
      for (std::int64_t d = 0; d < p_.head_dim; ++d) row[d] = source[d * from.column] * factor;
    });
  }

  // The tensor itself when BLAS can read it, else a dense fp32 copy in `room`, in which padding keeps what it held.
  Strided readable(const attn_call& call, const CopyNames& names, const Strided& from, const Side& side, std::int64_t columns, float* room) {
    if (leading(from, side.rows, columns).dimension > 0) return from;
    if (!room) throw std::runtime_error("a tensor has strides that BLAS cannot read, and the problem's needs do not say `strides`");
    const Op op(call, ATTN_OP_KERNEL, from.dtype == ATTN_FP32 ? names.copy : names.cast);
    const Strided to(room, side.heads, side.rows, columns);
    each_real_row(side, columns, false, [&](std::int64_t b, std::int64_t h, std::int64_t s) {
      widen_row(from.at(b, h, s), from.column, from.dtype, columns, to.floats(b, h, s));
    });
    return to;
  }

  // The tensor itself when BLAS can write it, else a dense one in `room`, which goes where it belongs by write_back.
  static Strided writable(const Strided& to, const Side& side, std::int64_t columns, float* room) {
    const Leading found = leading(to, side.rows, columns);
    if (found.order == CblasNoTrans && found.dimension > 0) return to;
    if (!room) throw std::runtime_error("a tensor has strides that BLAS cannot write, and the problem's needs do not say `strides`");
    return Strided(room, side.heads, side.rows, columns);
  }
  void write_back(const attn_call& call, const CopyNames& names, const Strided& from, const Strided& to, const Side& side, std::int64_t columns) {
    if (from.data == to.data) return;
    const Op op(call, ATTN_OP_KERNEL, to.dtype == ATTN_FP32 ? names.copy : names.cast);
    each_real_row(side, columns, !to.only_real_rows(), [&](std::int64_t b, std::int64_t h, std::int64_t s) {
      narrow_row(from.floats(b, h, s), columns, to.at(b, h, s), to.column, to.dtype);
    });
  }

  // scores (Sq, Skv) = left (Sq, columns) right^T (columns, Skv). Padding, which may hold anything, is not read: it counts as zeros.
  void product_to_scores(const attn_call& call, const char* name, const Strided& left, const Strided& right, std::int64_t columns, float* scores) {
    const Op op(call, ATTN_OP_KERNEL, name);
    const Leading by_left = leading(left, p_.seq_q, columns), by_right = leading(right, p_.seq_kv, columns);
    each_block(queries(), [&](std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t real, std::int64_t rows) {
      float* const to = block_of(scores, b, h, first);
      const std::int64_t keys = rows_.keys(b);
      if (real < rows || keys < p_.seq_kv) std::fill_n(to, rows * p_.seq_kv, 0.0f);
      if (real == 0 || keys == 0) return;
      cblas_sgemm(CblasRowMajor, by_left.order, flipped(by_right.order), static_cast<int>(real), static_cast<int>(keys), static_cast<int>(columns), 1.0f,
                  left.floats(b, h, first), by_left.dimension, right.floats(b, h / rows_.group(), 0), by_right.dimension, 0.0f, to,
                  static_cast<int>(p_.seq_kv));
    });
  }

  // to (Sq, columns) = scores (Sq, Skv) right (Skv, columns). Rows of a sequence without keys become `keyless`, padding rows 0.
  void product_by_rows(const attn_call& call, const char* name, const float* scores, const Strided& right, std::int64_t columns, const Strided& to,
                       float keyless = 0) {
    const Op op(call, ATTN_OP_KERNEL, name);
    const Leading by_right = leading(right, p_.seq_kv, columns), by_to = leading(to, p_.seq_q, columns);
    each_block(queries(), [&](std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t real, std::int64_t rows) {
      const std::int64_t keys = rows_.keys(b);
      if (real > 0 && keys > 0)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, by_right.order, static_cast<int>(real), static_cast<int>(columns), static_cast<int>(keys), 1.0f,
                    block_of(scores, b, h, first), static_cast<int>(p_.seq_kv), right.floats(b, h / rows_.group(), 0), by_right.dimension, 0.0f,
                    to.floats(b, h, first), by_to.dimension);
      if (keys == 0) fill(to, b, h, first, first + real, columns, keyless);
      if (!to.only_real_rows()) fill(to, b, h, first + real, first + rows, columns, 0);
    });
  }

  // to (Skv, columns) = scores^T (Skv, Sq) right (Sq, columns), summed over the query heads that share a KV head. Keys without queries and padding become 0.
  void product_by_keys(const attn_call& call, const char* name, const float* scores, const Strided& right, std::int64_t columns, const Strided& to) {
    const Op op(call, ATTN_OP_KERNEL, name);
    const Leading by_right = leading(right, p_.seq_q, columns), by_to = leading(to, p_.seq_kv, columns);
    each_block(keys(), [&](std::int64_t b, std::int64_t kv, std::int64_t first, std::int64_t real, std::int64_t rows) {
      const std::int64_t queries = rows_.queries(b), group = rows_.group();
      for (std::int64_t h = kv * group; h < (kv + 1) * group && real > 0 && queries > 0; ++h)
        cblas_sgemm(CblasRowMajor, CblasTrans, by_right.order, static_cast<int>(real), static_cast<int>(columns), static_cast<int>(queries), 1.0f,
                    block_of(scores, b, h, 0) + first, static_cast<int>(p_.seq_kv), right.floats(b, h, 0), by_right.dimension, h == kv * group ? 0.0f : 1.0f,
                    to.floats(b, kv, first), by_to.dimension);
      if (queries == 0) fill(to, b, kv, first, first + real, columns, 0);
      if (!to.only_real_rows()) fill(to, b, kv, first + real, first + rows, columns, 0);
    });
  }

 private:
  // Calls body(b, h, s) for every row of a side that is no padding, or for `padding` too.
  template <class Body>
  void each_real_row(const Side& side, std::int64_t columns, bool padding, const Body& body) {
    each_index(p_.batch, side.heads, side.rows, columns, [&](std::int64_t b, std::int64_t h, std::int64_t s, int) {
      if (padding || s < (rows_.*side.length)(b)) body(b, h, s);
    });
  }

  // Calls body(b, h, first row, rows that are no padding, rows) for blocks of rows.
  template <class Body>
  void each_block(const Side& side, const Body& body) {
    constexpr std::int64_t kRows = 256;  // enough for BLAS to earn the packing of its right side
    const std::int64_t blocks = (side.rows + kRows - 1) / kRows;
    threads_.each(p_.batch * side.heads * blocks, [&](std::int64_t task, int) {
      const std::int64_t b = task / (side.heads * blocks), first = task % blocks * kRows, rows = std::min(kRows, side.rows - first);
      body(b, task / blocks % side.heads, first, std::clamp<std::int64_t>((rows_.*side.length)(b) - first, 0, rows), rows);
    });
  }

  template <class Float>
  Float* block_of(Float* scores, std::int64_t b, std::int64_t h, std::int64_t first) const {
    return scores + ((b * p_.heads + h) * p_.seq_q + first) * p_.seq_kv;
  }

  static void fill(const Strided& to, std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t end, std::int64_t columns, float value) {
    for (std::int64_t s = first; s < end; ++s) std::fill_n(to.floats(b, h, s), columns, value);
  }

  const Rows& rows_;
  const attn_problem& p_;
  Threads& threads_;
};

}  // namespace attn
