// Rows of attention in four steps, each a kernel: scores (q . k and what follows), weights (softmax of a row), sums (weights . v, in parts), outputs.
// The two products are tiled through shared memory with up to 8 x 4 results a thread, which keeps the double-precision units busy on cards that have them.

#include <algorithm>
#include <type_traits>

#include "engine/gpu_rows.hpp"
#include "gpu/cuda.hpp"

namespace attn {
namespace {

constexpr int kThreads = 128, kLanes = 16, kBands = kThreads / kLanes;  // a block's threads: 8 bands of rows x 16 lanes of columns
constexpr int kDepth = 16, kLines = kThreads / kDepth;                 // features or keys summed between two barriers; lines loaded at a time
constexpr int kColumns = static_cast<int>(kTileColumns), kColumnsPerThread = kColumns / kLanes;

// Calls body with the dtype as a constant, so that the loads of a loop are free of branches.
template <class Body>
__device__ void with_dtype(std::int32_t dtype, const Body& body) {
  switch (dtype) {
    case ATTN_FP32: return body(std::integral_constant<std::int32_t, ATTN_FP32>{});
    case ATTN_FP16: return body(std::integral_constant<std::int32_t, ATTN_FP16>{});
    case ATTN_BF16: return body(std::integral_constant<std::int32_t, ATTN_BF16>{});
    case ATTN_FP8_E4M3: return body(std::integral_constant<std::int32_t, ATTN_FP8_E4M3>{});
    default: return body(std::integral_constant<std::int32_t, ATTN_FP8_E5M2>{});
  }
}

// The double one may round once; the float one is a naive loop's, and rounds twice.
__device__ double plus_product(double sum, double a, double b) { return sum + a * b; }
__device__ float plus_product(float sum, float a, float b) { return __fadd_rn(sum, __fmul_rn(a, b)); }

// One block's product of (rows, depth) and (depth, columns), a slice of the depth at a time. Padding keeps rows 16-byte aligned and banks apart.
template <class Number, int kRows>
struct Product {
  static constexpr int kRowsPerThread = kRows / kBands, kPad = 16 / static_cast<int>(sizeof(Number));
  struct Slices {
    alignas(16) Number left[kDepth][kRows + kPad];
    alignas(16) Number right[kDepth][kColumns + kPad];
  };
  __device__ int row(int i) const { return static_cast<int>(threadIdx.x) / kLanes * kRowsPerThread + i; }
  __device__ int column(int j) const { return j / 2 * (kColumns / 2) + static_cast<int>(threadIdx.x) % kLanes * 2 + j % 2; }  // pairs: 16-byte loads
  template <bool kSkipsZeros>
  __device__ void add(const Slices& slices) {
#pragma unroll
    for (int depth = 0; depth < kDepth; ++depth) {
      Number a[kRowsPerThread], b[kColumnsPerThread];
#pragma unroll
      for (int i = 0; i < kRowsPerThread; ++i) a[i] = slices.left[depth][row(i)];
#pragma unroll
      for (int j = 0; j < kColumnsPerThread; ++j) b[j] = slices.right[depth][column(j)];
#pragma unroll
      for (int i = 0; i < kRowsPerThread; ++i)
#pragma unroll
        for (int j = 0; j < kColumnsPerThread; ++j)
          if (!kSkipsZeros || a[i] != 0) sums[i][j] = plus_product(sums[i][j], a[i], b[j]);
    }
  }
  Number sums[kRowsPerThread][kColumnsPerThread]{};
};

// Rows whose keys the mask tensor hides all are dead. A warp a row.
template <class Steps>
__global__ void attn_harness_bury_rows(const RowWork<Steps> work, const MaskReader mask) {
  const std::int64_t number = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (number >= work.row_count) return;
  RowPlan& plan = work.plans[number];
  if (plan.keys() == 0 || plan.dead) return;
  for (std::int64_t j = plan.first; j < plan.end; j += 32) {
    const std::int64_t key = j + threadIdx.x % 32;
    if (__any_sync(0xffffffffu, key < plan.end && !mask.hides(plan.mask_at + key * mask.step))) return;
  }
  __syncwarp();
  if (threadIdx.x % 32 == 0) plan.die();
}

// A warp a key.
template <class Steps>
__global__ void attn_harness_sizes_of_values(const RowWork<Steps> work, std::int64_t keys) {
  const std::int64_t number = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32, key = number % keys;
  if (number / keys >= work.group_count) return;
  const RowGroup group = work.groups[number / keys];
  if (key >= group.end) return;
  const std::int64_t base = work.v.at(group.batch, group.kv_head, key);
  float largest = 0;
  double squares = 0;
  for (std::int64_t x = threadIdx.x % 32; x < work.head_dim_v; x += 32) {
    const float value = load_element(work.v.data, base + x * work.v.strides[3], work.v.dtype);
    largest = fmaxf(largest, fabsf(value));
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, lanes));
    squares += __shfl_xor_sync(0xffffffffu, squares, lanes);
  }
  if (threadIdx.x % 32 != 0) return;
  work.largest[number / keys * work.seq_kv + key] = largest;
  if (work.squares) work.squares[number / keys * work.seq_kv + key] = squares;
}

template <class Steps, int kRows>
__global__ void __launch_bounds__(kThreads, 3) attn_harness_scores(const RowWork<Steps> work, const Scoring<Steps> scoring, std::int64_t first_tile,
                                                                   std::int64_t parts) {
  using Number = typename Steps::Number;
  const RowTile tile = work.tiles[first_tile + blockIdx.x / parts];
  const std::int64_t first_key = tile.low + blockIdx.x % parts * kTileColumns;
  if (first_key >= tile.high) return;
  __shared__ typename Product<Number, kRows>::Slices slices;
  __shared__ std::int64_t row_at[kRows], key_at[kColumns];
  const RowPlan* const plans = work.plans + tile.first_row;
  for (int r = static_cast<int>(threadIdx.x); r < tile.rows; r += kThreads)
    row_at[r] = plans[r].keys() > 0 ? work.q.at(plans[r].batch, plans[r].head, plans[r].row) : -1;  // others may not be there
  const RowGroup group = work.groups[tile.group];
  for (int c = static_cast<int>(threadIdx.x); c < kColumns && first_key + c < tile.high; c += kThreads)
    key_at[c] = work.k.at(group.batch, group.kv_head, first_key + c);
  __syncthreads();

  Product<Number, kRows> product;
  const int feature = static_cast<int>(threadIdx.x) % kDepth, line = static_cast<int>(threadIdx.x) / kDepth;
  for (std::int64_t depth = 0; depth < work.head_dim; depth += kDepth) {
    const bool inside = depth + feature < work.head_dim;
    with_dtype(work.q.dtype, [&](auto dtype) {
#pragma unroll
      for (int i = 0; i < kRows / kLines; ++i) {
        const int r = line + i * kLines;
        slices.left[feature][r] = inside && r < tile.rows && row_at[r] >= 0 ? load_element(work.q.data, row_at[r] + (depth + feature) * work.q.strides[3], dtype) : 0.0f;
      }
    });
    with_dtype(work.k.dtype, [&](auto dtype) {
#pragma unroll
      for (int i = 0; i < kColumns / kLines; ++i) {
        const int c = line + i * kLines;
        slices.right[feature][c] = inside && first_key + c < tile.high ? load_element(work.k.data, key_at[c] + (depth + feature) * work.k.strides[3], dtype) : 0.0f;
      }
    });
    __syncthreads();
    product.template add<false>(slices);
    __syncthreads();
  }

  const std::int64_t width = tile.high - tile.low;
#pragma unroll
  for (int i = 0; i < product.kRowsPerThread; ++i) {
    const int r = product.row(i);
    if (r >= tile.rows) continue;
    const RowPlan& plan = plans[r];
    Number* const scores = work.scores + tile.scores + r * width - tile.low;  // by key
#pragma unroll
    for (int j = 0; j < kColumnsPerThread; ++j) {
      const std::int64_t key = first_key + product.column(j);
      if (key >= plan.first && key < plan.end) scores[key] = plan.dead ? Number{0} : scoring(product.sums[i][j], plan, key);
    }
  }
}

// The sum, or with `kLargest` the largest, of all threads' values, in a fixed order.
template <bool kLargest, class Value>
__device__ Value over_block(Value value, Value* shared) {
  const auto join = [](Value a, Value b) { return kLargest ? (b > a ? b : a) : static_cast<Value>(a + b); };
  for (int lanes = 16; lanes > 0; lanes /= 2) value = join(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  __syncthreads();  // `shared` may still be read
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  Value all = shared[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) all = join(all, shared[warp]);
  return all;
}

// A block a row: scores to weights, 0 at keys of the tile that are not the row's.
template <class Steps>
__global__ void attn_harness_weights(const RowWork<Steps> work, const Steps steps, std::int64_t first_tile) {
  using Number = typename Steps::Number;
  constexpr Number kHidden = -std::numeric_limits<Number>::infinity();
  const RowTile tile = work.tiles[first_tile + blockIdx.x / work.tile_rows];
  const std::int64_t r = blockIdx.x % work.tile_rows;
  if (r >= tile.rows) return;
  __shared__ double shared[32];
  const RowPlan plan = work.plans[tile.first_row + r];
  Number* const s = work.scores + tile.scores + r * (tile.high - tile.low) - tile.low;  // by key
  const std::int64_t thread = threadIdx.x, threads = blockDim.x;

  Number largest = kHidden;
  for (std::int64_t j = plan.first + thread; j < plan.end; j += threads) largest = s[j] > largest ? s[j] : largest;
  largest = over_block<true>(largest, reinterpret_cast<Number*>(shared));
  Number sum = 0;
  double visible = 0;  // a count, exact
  for (std::int64_t j = plan.first + thread; j < plan.end; j += threads) {
    sum += s[j] = exp(s[j] - largest);
    visible += weighs(s[j]);
  }
  visible = over_block<false>(visible, shared);
  if constexpr (Steps::kInOrder) {
    __syncthreads();
    sum = 0;
    for (std::int64_t j = plan.first; j < plan.end; ++j) sum += s[j];  // by every thread alike
  } else {
    sum = over_block<false>(sum, reinterpret_cast<Number*>(shared));
  }
  __syncthreads();  // before weights take the place of what was summed
  double noise = 0, scatter = 0, scatter_squares = 0;
  const float* const values = work.largest + tile.group * work.seq_kv;
  const double* const squares = work.squares ? work.squares + tile.group * work.seq_kv : nullptr;
  for (std::int64_t j = tile.low + thread; j < tile.high; j += threads) {
    const Number weight = j >= plan.first && j < plan.end ? steps.weight(s[j], sum) : Number{0};
    s[j] = weight;
    if (weight == 0) continue;
    const double part = static_cast<double>(weight) * static_cast<double>(values[j]);
    noise += part * part;
    if (squares == nullptr) continue;
    const double moved = static_cast<double>(weight) * static_cast<double>(weight) * squares[j];
    scatter += moved;
    scatter_squares += moved * moved;
  }
  noise = over_block<false>(noise, shared);
  if (squares) {
    scatter = over_block<false>(scatter, shared);
    scatter_squares = over_block<false>(scatter_squares, shared);
  }
  if (threadIdx.x != 0) return;
  const bool empty = plan.keys() == 0;
  const Number divisor = empty ? Number{1} : steps.divisor(sum);
  work.divisors[tile.first_row + r] = divisor;
  work.visible[plan.index] = plan.dead ? 0 : static_cast<std::int64_t>(visible);
  work.lse[plan.index] = empty || plan.dead ? -std::numeric_limits<double>::infinity() : static_cast<double>(largest + log(sum));
  const auto sum_of_weights = static_cast<double>(divisor);
  work.noise[plan.index] = empty ? 0 : sqrt(noise) / sum_of_weights;
  if (squares == nullptr) return;
  const double over = 1 / (sum_of_weights * sum_of_weights);
  work.scatter[plan.index] = empty ? 0 : scatter * over;
  work.scatter_squares[plan.index] = empty ? 0 : scatter_squares * over * over;
}

template <class Steps, int kRows>
__global__ void __launch_bounds__(kThreads, 3) attn_harness_sums(const RowWork<Steps> work, std::int64_t first_tile, std::int64_t parts,
                                                                 std::int64_t columns) {
  using Number = typename Steps::Number;
  const std::int64_t part = blockIdx.x / columns % parts, first_column = blockIdx.x % columns * kTileColumns;
  const RowTile tile = work.tiles[first_tile + blockIdx.x / columns / parts];
  const std::int64_t low = tile.low + part * work.keys_per_part, high = min(tile.high, low + work.keys_per_part), width = tile.high - tile.low;
  if (low >= high) return;
  __shared__ typename Product<Number, kRows>::Slices slices;
  const RowGroup group = work.groups[tile.group];
  const Number* const weights = work.scores + tile.scores - tile.low;

  Product<Number, kRows> product;
  const int key = static_cast<int>(threadIdx.x) % kDepth, line = static_cast<int>(threadIdx.x) / kDepth;
  const int column = static_cast<int>(threadIdx.x) % kColumns, step = static_cast<int>(threadIdx.x) / kColumns;
  for (std::int64_t depth = low; depth < high; depth += kDepth) {
#pragma unroll
    for (int i = 0; i < kRows / kLines; ++i) {
      const int r = line + i * kLines;
      slices.left[key][r] = depth + key < high && r < tile.rows ? weights[r * width + depth + key] : Number{0};
    }
    bool odd = false;  // NaN or infinite: times a weight of 0 it must not count
    with_dtype(work.v.dtype, [&](auto dtype) {
#pragma unroll
      for (int i = 0; i < kDepth * kColumns / kThreads; ++i) {
        const int d = step + i * (kThreads / kColumns);
        const bool inside = depth + d < high && first_column + column < work.head_dim_v;
        const float value =
            inside ? load_element(work.v.data, work.v.at(group.batch, group.kv_head, depth + d) + (first_column + column) * work.v.strides[3], dtype) : 0.0f;
        odd |= !isfinite(value);
        slices.right[d][column] = value;
      }
    });
    if (__syncthreads_or(odd)) product.template add<true>(slices);
    else product.template add<false>(slices);
    __syncthreads();
  }

  Number* const partials = work.partials + tile.partials + part * kRows * work.head_dim_v;
#pragma unroll
  for (int i = 0; i < product.kRowsPerThread; ++i)
#pragma unroll
    for (int j = 0; j < kColumnsPerThread; ++j) {
      const std::int64_t x = first_column + product.column(j);
      if (x < work.head_dim_v) partials[product.row(i) * work.head_dim_v + x] = product.sums[i][j];
    }
}

// A thread an element.
template <class Steps>
__global__ void attn_harness_outputs(const RowWork<Steps> work, const Steps steps, std::int64_t first_tile, std::int64_t tiles) {
  using Number = typename Steps::Number;
  const std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, x = number % work.head_dim_v;
  const std::int64_t r = number / work.head_dim_v % work.tile_rows, t = number / work.head_dim_v / work.tile_rows;
  if (t >= tiles) return;
  const RowTile tile = work.tiles[first_tile + t];
  if (r >= tile.rows) return;
  const RowPlan& plan = work.plans[tile.first_row + r];
  double& out = work.out[static_cast<std::int64_t>(plan.index) * work.head_dim_v + x];
  if (plan.keys() == 0) {
    out = plan.dead && work.nan_rows ? std::numeric_limits<double>::quiet_NaN() : 0.0;
    return;
  }
  const Number* const partials = work.partials + tile.partials + r * work.head_dim_v + x;
  Number sum = 0;
  for (std::int64_t low = tile.low, part = 0; low < tile.high; low += work.keys_per_part, ++part) sum += partials[part * work.tile_rows * work.head_dim_v];
  out = static_cast<double>(steps.output(sum / work.divisors[tile.first_row + r]));
}

unsigned blocks_of(std::int64_t items, std::int64_t per_block) { return static_cast<unsigned>((items + per_block - 1) / per_block); }

template <class Steps, int kRows>
void enqueue_chunk(const RowWork<Steps>& work, const Scoring<Steps>& scoring, const TileChunk& chunk, cudaStream_t stream) {
  const std::int64_t parts = std::max<std::int64_t>(1, (chunk.widest + work.keys_per_part - 1) / work.keys_per_part);
  const std::int64_t key_tiles = std::max<std::int64_t>(1, (chunk.widest + kTileColumns - 1) / kTileColumns);
  const std::int64_t columns = (work.head_dim_v + kTileColumns - 1) / kTileColumns;
  const int row_threads = chunk.widest > 2048 && chunk.tiles * work.tile_rows < 2048 ? 1024 : 256;  // few wide rows: more threads for each
  attn_harness_scores<Steps, kRows><<<blocks_of(chunk.tiles * key_tiles, 1), kThreads, 0, stream>>>(work, scoring, chunk.first_tile, key_tiles);
  check_cuda(cudaGetLastError(), "attn_harness_scores");
  attn_harness_weights<Steps><<<blocks_of(chunk.tiles * work.tile_rows, 1), row_threads, 0, stream>>>(work, scoring.steps, chunk.first_tile);
  check_cuda(cudaGetLastError(), "attn_harness_weights");
  attn_harness_sums<Steps, kRows><<<blocks_of(chunk.tiles * parts * columns, 1), kThreads, 0, stream>>>(work, chunk.first_tile, parts, columns);
  check_cuda(cudaGetLastError(), "attn_harness_sums");
  const std::int64_t elements = chunk.tiles * work.tile_rows * work.head_dim_v;
  attn_harness_outputs<Steps><<<blocks_of(elements, 256), 256, 0, stream>>>(work, scoring.steps, chunk.first_tile, chunk.tiles);
  check_cuda(cudaGetLastError(), "attn_harness_outputs");
}

}  // namespace

template <class Steps>
void enqueue_rows(const RowWork<Steps>& work, const Scoring<Steps>& scoring, std::span<const TileChunk> chunks, cudaStream_t stream) {
  if (scoring.mask) {
    attn_harness_bury_rows<Steps><<<blocks_of(work.row_count * 32, 256), 256, 0, stream>>>(work, scoring.mask);
    check_cuda(cudaGetLastError(), "attn_harness_bury_rows");
  }
  attn_harness_sizes_of_values<Steps><<<blocks_of(work.group_count * work.seq_kv * 32, 256), 256, 0, stream>>>(work, work.seq_kv);
  check_cuda(cudaGetLastError(), "attn_harness_sizes_of_values");
  for (const TileChunk& chunk : chunks) {
    if (work.tile_rows == kFullTile) enqueue_chunk<Steps, kFullTile>(work, scoring, chunk, stream);
    else enqueue_chunk<Steps, kSmallTile>(work, scoring, chunk, stream);
  }
}

template void enqueue_rows(const RowWork<Exact>&, const Scoring<Exact>&, std::span<const TileChunk>, cudaStream_t);
template void enqueue_rows(const RowWork<Naive>&, const Scoring<Naive>&, std::span<const TileChunk>, cudaStream_t);

}  // namespace attn
