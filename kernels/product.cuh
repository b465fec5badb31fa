#pragma once
// A batch of matrix products over (batch, heads) of strided views: what chain.cuh multiplies, and its own kernels for what cuBLASLt cannot do.

#include "gpu_rows.cuh"

namespace attn {

// Row-major c (m, n) = a (m, k) b (k, n) for every batch entry and query head; `group` query heads share a matrix b. A view's row and column strides name the
// matrix's own rows and columns: a transpose is a view with the two exchanged. Keys that lie in pages are the rows of b, or its columns.
struct Product {
  Strided a, b, c;
  std::int64_t m, n, k, batch, heads, group;
};

inline Strided transposed(Strided view) {
  std::swap(view.row, view.column);
  return view;
}

// Of a single query row: the heads that share a matrix b become the rows of one product, so that b is read once for all of them. As it was where the strides do
// not allow it. B16 H32 Hkv8 Skv8192 D128, fp16, H200: 69 us instead of 158 for q k^T, 64 instead of 136 for the probabilities and v.
inline Product folded(Product p) {
  if (p.m != 1 || p.group == 1 || p.a.head < p.k || p.c.head < p.n) return p;
  for (Strided* view : {&p.a, &p.c}) {
    view->row = view->head;
    view->head *= p.group;
  }
  p.m = p.group;
  p.heads /= p.group;
  p.group = 1;
  return p;
}

// Reads and writes any strides and any mixture of types, ragged rows and pages, and knows lengths: padding, which may hold NaN, is not read, because 0 * NaN is NaN and no mask after
// a product mends that. fp32 on plain FMA: 64 x 64 tiles, 16 deep, 4 x 4 a thread.
struct Tile {
  static constexpr int side = 64, depth = 16, threads = 256, part = 4;
  static_assert(side / part * (side / part) == threads, "each thread owns part x part results");
};

// Where the elements of one axis lie: at even distances, or in the pages of one sequence.
struct Even {
  std::int64_t step;
  __device__ std::int64_t operator()(std::int64_t n) const { return n * step; }
};
struct InPages {
  const std::int32_t* pages;
  std::int64_t page_step, step, page_size;
  __device__ InPages(const Strided& view, std::int64_t b, std::int64_t key_step)
      : pages(view.pages + b * view.pages_per_entry), page_step(view.batch), step(key_step), page_size(view.page_size) {}
  __device__ std::int64_t operator()(std::int64_t n) const { return pages[n / page_size] * page_step + n % page_size * step; }
};

// Lines first .. of a matrix into tile[depth][line]; zeros past the ends. `along_depth`: neighbours of the depth are neighbours in memory.
template <class Line, class Depth>
__device__ void load_tile(float (&tile)[Tile::depth][Tile::side + 1], const char* data, int dtype, const Line& line, const Depth& step, bool along_depth,
                          std::int64_t first, std::int64_t lines, std::int64_t from, std::int64_t depth) {
#pragma unroll
  for (int round = 0; round < Tile::side * Tile::depth / Tile::threads; ++round) {
    const int n = round * Tile::threads + static_cast<int>(threadIdx.x);
    const int l = along_depth ? n / Tile::depth : n % Tile::side, d = along_depth ? n % Tile::depth : n / Tile::side;
    tile[d][l] = first + l < lines && from + d < depth ? load_as_float(data, line(first + l) + step(from + d), dtype) : 0.0f;
  }
}

struct TileRoom {
  float left[Tile::depth][Tile::side + 1], right[Tile::depth][Tile::side + 1];
};

// The block's tile of the product, limited to `lines` rows of a, `columns` columns of b and `depth`; the rest of c becomes rest(row), where it has such rows.
// `b_start`: element (0, 0) of matrix b, whose elements lie there by `b_row` and `b_column`.
template <class Row, class Column, class Rest>
__device__ void multiply(TileRoom& room, const Product& p, const Row& b_row, const Column& b_column, std::int64_t b_start, std::int64_t b, std::int64_t h,
                         std::int64_t first_row, std::int64_t first_column, std::int64_t lines, std::int64_t columns, std::int64_t depth, const Rest& rest) {
  auto& [left, right] = room;
  const char* a = p.a.data;
  const char* by = p.b.data;
  const std::int64_t a_start = p.a.place(b, 0) + h * p.a.head;
  const auto bytes = [](int dtype) { return dtype == ATTN_FP32 ? 4 : 2; };
  a += a_start * bytes(p.a.dtype);
  by += b_start * bytes(p.b.dtype);
  float sums[Tile::part][Tile::part] = {};
  const int row = static_cast<int>(threadIdx.x) / (Tile::side / Tile::part), column = static_cast<int>(threadIdx.x) % (Tile::side / Tile::part);
  constexpr int kApart = Tile::side / Tile::part;
  if (first_row < lines && first_column < columns)
    for (std::int64_t from = 0; from < depth; from += Tile::depth) {
      load_tile(left, a, p.a.dtype, Even{p.a.row}, Even{p.a.column}, p.a.column == 1, first_row, lines, from, depth);
      load_tile(right, by, p.b.dtype, b_column, b_row, p.b.row == 1, first_column, columns, from, depth);
      __syncthreads();
#pragma unroll
      for (int d = 0; d < Tile::depth; ++d)
#pragma unroll
        for (int m = 0; m < Tile::part; ++m)
#pragma unroll
          for (int n = 0; n < Tile::part; ++n) sums[m][n] += left[d][row + m * kApart] * right[d][column + n * kApart];
      __syncthreads();
    }
  const std::int64_t c_start = p.c.place(b, 0) + h * p.c.head, rows = p.c.starts ? p.c.starts[b + 1] - p.c.starts[b] : p.m;
#pragma unroll
  for (int m = 0; m < Tile::part; ++m)
#pragma unroll
    for (int n = 0; n < Tile::part; ++n) {
      const std::int64_t i = first_row + row + m * kApart, j = first_column + column + n * kApart;
      if (i < rows && j < p.n)
        store_from_float(p.c.data, c_start + i * p.c.row + j * p.c.column, p.c.dtype, i < lines && j < columns ? sums[m][n] : rest(i));
    }
}

// Which tile of which product a block makes.
struct TilePlace {
  std::int64_t b, h, row, column;
  __device__ explicit TilePlace(const Product& p) {
    const std::int64_t rows = (p.m + Tile::side - 1) / Tile::side, columns = (p.n + Tile::side - 1) / Tile::side;
    const std::int64_t index = blockIdx.x, entry = index / (rows * columns), tile = index % (rows * columns);
    b = entry / p.heads;
    h = entry % p.heads;
    row = tile / columns * Tile::side;
    column = tile % columns * Tile::side;
  }
};

inline std::int64_t tiles_of(const Product& p) { return p.batch * p.heads * divide_up(p.m, Tile::side) * divide_up(p.n, Tile::side); }

// scores = q k^T; 0 for padding on either side.
__global__ void __launch_bounds__(Tile::threads) attn_chain_gemm_qk(Product p, GpuRows rows) {
  __shared__ TileRoom room;
  const TilePlace at(p);
  const auto product = [&](const auto& key, std::int64_t start) {
    multiply(room, p, Even{p.b.row}, key, start + at.h / p.group * p.b.head, at.b, at.h, at.row, at.column, rows.queries(at.b), rows.keys(at.b), p.k,
             [](std::int64_t) { return 0.0f; });
  };
  if (p.b.pages) product(InPages(p.b, at.b, p.b.column), 0);
  else product(Even{p.b.column}, p.b.starts ? p.b.starts[at.b] * p.b.column : at.b * p.b.batch);
}

// o = probabilities v; 0 for padding rows. A sequence without keys has dead rows only.
__global__ void __launch_bounds__(Tile::threads) attn_chain_gemm_pv(Product p, GpuRows rows, int dead_rows) {
  __shared__ TileRoom room;
  const TilePlace at(p);
  const std::int64_t queries = rows.queries(at.b), keys = rows.keys(at.b);
  const float nothing = dead_rows == ATTN_DEAD_NAN ? NAN : 0.0f;
  const auto product = [&](const auto& key, std::int64_t start) {
    multiply(room, p, key, Even{p.b.column}, start + at.h / p.group * p.b.head, at.b, at.h, at.row, at.column, keys > 0 ? queries : 0, p.n, keys,
             [=](std::int64_t i) { return i < queries ? nothing : 0.0f; });
  };
  if (p.b.pages) product(InPages(p.b, at.b, p.b.row), 0);
  else product(Even{p.b.row}, p.b.place(at.b, 0));
}

}  // namespace attn
