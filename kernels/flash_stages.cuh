#pragma once
// How the operands of flash.cu come to shared memory: in stages, pieces of 64 rows that are 256 bytes wide, of which a thread brings 16 bytes at a time.

#include "gpu_rows.cuh"

namespace attn {

struct StageShape {
  static constexpr int rows = 64, row_bytes = 256, threads = 128;
  static constexpr int pieces = row_bytes / 16, rows_at_once = threads / pieces;
  static_assert(rows % rows_at_once == 0, "every thread brings as many pieces");
};
template <class T>
constexpr int kStageColumns = StageShape::row_bytes / static_cast<int>(sizeof(T));

// Which rows of a (batch, heads, seq, head_dim) tensor a tile takes: row n is position n / group of head first_head + n % group; positions from `end` on are padding.
struct TileRows {
  std::int64_t b, first_head, group, first_row, end;
  __device__ Place place(int n) const { return {b, first_head + (first_row + n) % group, (first_row + n) / group}; }
};
// Which columns of it a stage takes: `width` of them, of which `real` exist; the others become 0.
struct StageColumns {
  int first, real, width;
};

// Whether rows of `columns` elements of `type` can be copied as they are, 16 bytes at a time.
inline bool copies_whole(const Strided& view, std::int32_t type, std::int64_t columns) {
  const auto element = static_cast<std::int64_t>(element_bytes(type));
  const auto whole = [&](std::int64_t distance) { return distance * element % 16 == 0; };
  return view.dtype == type && view.column == 1 && reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0 && whole(columns) && whole(view.row) && whole(view.head) &&
         whole(view.batch);
}

// The piece that a thread brings of every `rows_at_once`th row.
template <class T>
struct Piece {
  static constexpr int columns = kPack<T>;
  const int row = static_cast<int>(threadIdx.x) / StageShape::pieces, column = static_cast<int>(threadIdx.x) % StageShape::pieces * columns;
};

// In the background, until cp.async.wait_all; 0 where nothing is `real`, and then `from` is not read.
template <class T>
__device__ void copy_piece(T* to, const T* from, bool real) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(real ? 16 : 0) : "memory");
}

// A stage of one head whose rows lie view.row apart and can be copied whole.
template <class T>
__device__ void copy_rows(T* to, int line, const Strided& view, const TileRows& rows, const StageColumns& columns) {
  const Piece<T> piece;
  if (piece.column >= columns.width) return;
  const T* from = reinterpret_cast<const T*>(view.data) + view.place(rows.b, rows.first_row + piece.row) + rows.first_head * view.head + columns.first + piece.column;
  const int left = piece.column < columns.real ? static_cast<int>(rows.end - rows.first_row) : 0;
  to += piece.row * line + piece.column;
#pragma unroll
  for (int n = 0; n < StageShape::rows; n += StageShape::rows_at_once) {
    copy_piece(to + n * line, from, n + piece.row < left);
    from += StageShape::rows_at_once * view.row;
  }
}

// A stage of rows that lie anywhere; `whole`: they can be copied whole, else they are of any type and any strides, and the caller waits for them. Apart, so that
// the loop over the keys stays small.
template <class T>
__device__ __noinline__ void gather_rows(T* to, int line, const Strided& view, bool whole, TileRows rows, StageColumns columns) {
  const Piece<T> piece;
  if (piece.column >= columns.width) return;
  const int first = columns.first + piece.column;
#pragma unroll 1
  for (int n = piece.row; n < StageShape::rows; n += StageShape::rows_at_once) {
    const Place at = rows.place(n);
    T* const target = to + n * line + piece.column;
    const bool real = at.i < rows.end && piece.column < columns.real;
    const std::int64_t start = real ? view.place(rows.b, at.i) + at.h * view.head : 0;
    if (whole || !real) {
      copy_piece(target, reinterpret_cast<const T*>(view.data) + start + first, real);
      continue;
    }
#pragma unroll 1
    for (int d = 0; d < Piece<T>::columns; ++d)
      target[d] = narrow<T>(piece.column + d < columns.real ? load_as_float(view.data, start + (first + d) * view.column, view.dtype) : 0.0f);
  }
}

}  // namespace attn
