// arch: 80 90-real
// Blocked attention with an online softmax on the GPU: one kernel, and nothing of size seq_q x seq_kv is ever stored.
//
// The loop order is FlashAttention-2's (Dao 2023, arXiv 2307.08691): a tile of 64 query rows stays in shared memory, blocks of 64 keys pass by; blocks that
// causality or a window hides are never touched. The query heads that share a KV head are rows of the same tile, so that a tile reads their keys once for all.
// A block of keys arrives in stages (flash_stages.cuh), pieces of k and then of v; the next one is copied while the present one is multiplied. 16-bit types are
// multiplied on tensor cores, fp32 and mixed types by FMA (flash_products.cuh). It shares no kernel with chain.cu, only the rules of which keys a row sees
// (gpu_rows.cuh) and where they lie (rows.hpp), for which the reference alone bears witness.
// On an H200, bf16: B8 H16 S1024 D64 causal 245 us, naive_inplace 573; B1 H32.8 S4096 D128 causal 804 us (171 TFLOP/s), naive_inplace 2.19 ms.
// Loses: nothing is split over the keys, so decoding leaves most of the card idle (B1 H32.8, 8192 keys: 345 us, naive_inplace 28); no TMA, no wgmma; two blocks of four warps on an SM.

#include "dropout.hpp"
#include "flash_products.cuh"
#include "flash_stages.cuh"

namespace {

using attn::GpuRows;
using attn::Strided;

struct Config {
  static constexpr int rows = attn::StageShape::rows, keys = attn::kTileKeys, threads = attn::StageShape::threads;
  // Columns of the output that one block keeps in registers. Wider outputs take several blocks, and each computes the scores again.
  static constexpr int narrow = 64, wide = 128;
  static_assert(rows == keys, "query rows and keys arrive in stages of one shape");
  static_assert(rows == 16 * (threads / 32), "a warp has 16 query rows");
};

// Everything of a call; `type`: of the tile, ATTN_FP32 for mixed types.
struct Forward {
  Forward(const attn_problem& problem, const attn_tensors& tensors, std::int32_t type)
      : rows(problem, tensors),
        q(Strided::of_queries(*tensors.q, problem, tensors)),
        k(Strided::of_keys(*tensors.k, problem, tensors)),
        v(Strided::of_keys(*tensors.v, problem, tensors)),
        o(Strided::of_queries(*tensors.o, problem, tensors)),
        q_copies(attn::copies_whole(q, type, problem.head_dim)),
        k_copies(attn::copies_whole(k, type, problem.head_dim)),
        v_copies(attn::copies_whole(v, type, problem.head_dim_v)),
        heads_kv(problem.heads_kv),
        group(problem.heads / problem.heads_kv),
        head_dim(static_cast<int>(problem.head_dim)),
        head_dim_v(static_cast<int>(problem.head_dim_v)),
        mask_dtype(problem.dtype),
        dead_rows(problem.dead_rows),
        scale(static_cast<float>(problem.scale)),
        softcap(static_cast<float>(problem.softcap)),
        dropout(problem) {
    if (!tensors.lse) return;
    lse = reinterpret_cast<float*>(static_cast<char*>(tensors.lse->data) + tensors.lse->byte_offset);
    std::copy_n(tensors.lse->strides, 3, lse_strides);
  }

  GpuRows rows;
  Strided q, k, v, o;
  bool q_copies, k_copies, v_copies;
  std::int64_t heads_kv, group;
  int head_dim, head_dim_v, mask_dtype, dead_rows;
  float scale, softcap;
  float* lse = nullptr;  // null: not asked for
  std::int64_t lse_strides[3] = {};
  attn::Dropout dropout;
};

// A line of the query tile, in elements.
template <class T>
__host__ __device__ constexpr std::int64_t q_line(std::int64_t head_dim) {
  using Products = attn::TileProducts<T>;
  return (head_dim + Products::depth - 1) / Products::depth * Products::depth + Products::pad;
}

// What the mask tensor adds to a score: -inf where a bool one hides the key. Apart for the same reason.
__device__ __noinline__ float mask_bias(const GpuRows& rows, int dtype, std::int64_t at) {
  if (rows.bool_mask) return rows.mask[at] ? 0.0f : -INFINITY;
  return attn::load_as_float(rows.mask, at, dtype);
}

// ... and so would ten rounds of Philox take the softmax's registers.
__device__ __noinline__ float2 dropped(attn::Dropout dropout, std::int64_t row, int key, float2 weights) {
  float pair[2] = {weights.x, weights.y};
  dropout(row, pair, pair, 2, key);
  return {pair[0], pair[1]};
}

// Column `column` of the mean of v, which a dead row may have to be.
__device__ __noinline__ float mean_of_values(const Strided& v, std::int64_t b, std::int64_t head, std::int64_t keys, int column) {
  float sum = 0;
  for (std::int64_t j = 0; j < keys; ++j) sum += attn::load_as_float(v.data, v.place(b, j) + head * v.head + column * v.column, v.dtype);
  return sum / static_cast<float>(keys);
}

// One of a thread's two query rows.
struct Row {
  bool exists, real;  // real: no padding
  int first = 0, end = 0, own;  // the keys that it may see; its position on their axis
  float slope;
  std::int64_t mask;  // element (b, h, i, 0)
  float most = -INFINITY, total = 0;
};

template <class T, int columns>
__global__ void __launch_bounds__(Config::threads) attn_flash_fwd(const __grid_constant__ Forward p) {
  using Products = attn::TileProducts<T>;
  constexpr int kStage = attn::kStageColumns<T>, kValues = columns < kStage ? columns : kStage, kLine = kStage + Products::pad, kTiles = Config::keys / 8;
  static_assert(columns % kValues == 0, "the output is whole stages of v");
  extern __shared__ uint4 room[];
  const int line = static_cast<int>(q_line<T>(p.head_dim));
  T* const q = reinterpret_cast<T*>(room);
  T* const stages = q + Config::rows * line;  // two

  // Last rows first: with a causal mask they are the longest.
  const std::int64_t count = p.group * p.rows.seq_q, tiles = (count + Config::rows - 1) / Config::rows;
  const int column_blocks = (p.head_dim_v + columns - 1) / columns;
  std::int64_t index = blockIdx.x;
  const std::int64_t first_row = (tiles - 1 - index % tiles) * Config::rows;
  index /= tiles;
  const int first_column = static_cast<int>(index % column_blocks) * columns;
  index /= column_blocks;
  const std::int64_t kv_head = index % p.heads_kv, b = index / p.heads_kv;
  const auto queries = static_cast<int>(p.rows.queries(b)), keys = static_cast<int>(p.rows.keys(b));

  const int k_stages = (p.head_dim + kStage - 1) / kStage;
  const auto k_columns = [&](int stage) {
    const int real = p.head_dim - stage * kStage, padded = (real + Products::depth - 1) / Products::depth * Products::depth;
    return attn::StageColumns{stage * kStage, real, min(kStage, padded)};
  };
  const attn::TileRows tile{b, kv_head * p.group, p.group, first_row, queries};
  for (int stage = 0; stage < k_stages; ++stage) attn::gather_rows(q + stage * kStage, line, p.q, p.q_copies, tile, k_columns(stage));

  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const auto place_of = [&](int half) { return tile.place(warp * 16 + half * 8 + lane / 4); };
  Row rows[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    Row& row = rows[half];
    const attn::Place at = place_of(half);
    row.exists = at.i < p.rows.seq_q;
    row.real = at.i < queries;
    if (row.real) {
      const attn::Keys seen = p.rows.visible(b, at.i);
      row.first = static_cast<int>(min(seen.first, static_cast<std::int64_t>(keys)));
      row.end = static_cast<int>(min(seen.end, static_cast<std::int64_t>(keys)));
    }
    row.own = static_cast<int>(at.i + p.rows.offset(b));
    row.slope = p.rows.slopes && row.exists ? p.rows.slopes[at.h * p.rows.slope_stride] : 0.0f;
    row.mask = p.rows.mask ? p.rows.mask_row(at) : 0;
  }

  // The tile's keys: from the first that its first row sees to the last that its last row sees.
  int lowest = 0, highest = 0;
  if (first_row / p.group < queries) {
    const std::int64_t last = min((min(first_row + Config::rows, count) - 1) / p.group, static_cast<std::int64_t>(queries) - 1);
    lowest = static_cast<int>(min(p.rows.visible(b, first_row / p.group).first, static_cast<std::int64_t>(keys)));
    highest = static_cast<int>(min(p.rows.visible(b, last).end, static_cast<std::int64_t>(keys)));
  }

  // Scores of a block become weights; `factor`: by how much each row's earlier sums shrink.
  const auto weigh = [&](attn::TileSums<Config::keys>& s, int key, float (&factor)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Row& row = rows[half];
      const int own_key = key + lane % 4 * 2;  // of the thread's first column
      const auto each = [&](const auto& body) {
#pragma unroll
        for (int n = 0; n < kTiles; ++n)
#pragma unroll
          for (int side = 0; side < 2; ++side) body(s[n][2 * half + side], n * 8 + side);
      };
      each([&](float& score, int) { score *= p.scale; });
      if (p.softcap != 0.0f) {
        const float inverse = 1.0f / p.softcap;
        each([&](float& score, int) { score = p.softcap * tanhf(score * inverse); });
      }
      if (p.rows.slopes) each([&](float& score, int n) { score -= row.slope * static_cast<float>(abs(row.own - own_key - n)); });
      if (p.rows.mask)
        each([&](float& score, int n) {
          if (own_key + n >= row.first && own_key + n < row.end) score += mask_bias(p.rows, p.mask_dtype, row.mask + (own_key + n) * p.rows.mask_strides[3]);
        });
      if (key < row.first || key + Config::keys > row.end)
        each([&](float& score, int n) {
          if (own_key + n < row.first || own_key + n >= row.end) score = -INFINITY;
        });
      float most = row.most;
      each([&](float& score, int) { most = fmaxf(most, score); });
#pragma unroll
      for (int distance = 1; distance < 4; distance *= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, distance));
      const float shift = most == -INFINITY ? 0.0f : most;
      factor[half] = attn::exponential<T>(row.most - shift);
      row.most = most;
      float sum = 0;
      each([&](float& score, int) { sum += score = attn::exponential<T>(score - shift); });
      row.total = row.total * factor[half] + sum;
      if (!p.dropout) continue;
      const attn::Place at = place_of(half);
      const std::int64_t number = (b * p.rows.heads + at.h) * p.rows.seq_q + at.i;
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
        float* const pair = s[n] + 2 * half;
        const float2 kept = dropped(p.dropout, number, own_key + n * 8, {pair[0], pair[1]});
        pair[0] = kept.x;
        pair[1] = kept.y;
      }
    }
  };

  // Stages of a block of keys: pieces of k, then of v. `fetched` counts those that are asked for, and so says where the next one goes.
  constexpr int kValueStages = columns / kValues;
  int fetched = 0, fetch_key = lowest, fetch_stage = 0;
  const auto fetch = [&] {
    if (fetch_key >= highest) return;
    const bool of_k = fetch_stage < k_stages;
    const int column = first_column + (fetch_stage - k_stages) * kValues;
    const attn::StageColumns of = of_k ? k_columns(fetch_stage) : attn::StageColumns{column, p.head_dim_v - column, kValues};
    const attn::TileRows from{b, kv_head, 1, fetch_key, keys};
    const Strided& view = of_k ? p.k : p.v;
    T* const to = stages + fetched % 2 * (Config::keys * kLine);
    if ((of_k ? p.k_copies : p.v_copies) && !view.pages) attn::copy_rows(to, kLine, view, from, of);
    else attn::gather_rows(to, kLine, view, of_k ? p.k_copies : p.v_copies, from, of);
    ++fetched;
    if (++fetch_stage < k_stages + kValueStages) return;
    fetch_stage = 0;
    fetch_key += Config::keys;
  };
  // The stage that was asked for last; the next one is asked for.
  const auto next_stage = [&] {
    const T* const stage = stages + (fetched - 1) % 2 * (Config::keys * kLine);
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();  // it is here for everybody, and nobody reads the other any more
    fetch();
    return stage;
  };

  float output[columns / 8][4] = {};
  fetch();
  for (int key = lowest; key < highest; key += Config::keys) {
    attn::TileSums<Config::keys> weights = {};
#pragma unroll 1
    for (int stage = 0; stage < k_stages; ++stage) {
      const T* const k = next_stage();
      Products::scores(weights, q + warp * 16 * line + stage * kStage, line, k, kLine, k_columns(stage).width);
    }
    float factor[2];
    weigh(weights, key, factor);
#pragma unroll
    for (auto& sums : output)
#pragma unroll
      for (int n = 0; n < 4; ++n) sums[n] *= factor[n / 2];
#pragma unroll
    for (int stage = 0; stage < kValueStages; ++stage) Products::template outputs<kValues>(output + stage * kValues / 8, weights, next_stage(), kLine);
  }

  float* const mean = reinterpret_cast<float*>(room);  // (columns)
  bool wants_mean = false;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int distance = 1; distance < 4; distance *= 2) rows[half].total += __shfl_xor_sync(0xffffffffu, rows[half].total, distance);
    wants_mean = wants_mean || (rows[half].total == 0.0f && rows[half].real && p.dead_rows == ATTN_DEAD_MEAN && keys > 0);
  }
  if (__syncthreads_or(wants_mean)) {
    for (int column = static_cast<int>(threadIdx.x); column < columns && first_column + column < p.head_dim_v; column += Config::threads)
      mean[column] = mean_of_values(p.v, b, kv_head, keys, first_column + column);
    __syncthreads();
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const Row& row = rows[half];
    if (!row.exists) continue;
    const attn::Place at = place_of(half);
    const bool dead = row.total == 0.0f;
    if (p.lse && first_column == 0 && lane % 4 == 0)
      p.lse[b * p.lse_strides[0] + at.h * p.lse_strides[1] + at.i * p.lse_strides[2]] = dead ? -INFINITY : row.most + logf(row.total);
    if (!row.real && p.o.only_real_rows()) continue;
    const std::int64_t start = p.o.place(b, at.i) + at.h * p.o.head;
    const float inverse = 1.0f / row.total, instead = row.real && p.dead_rows == ATTN_DEAD_NAN ? NAN : 0.0f;
    const bool of_mean = row.real && p.dead_rows == ATTN_DEAD_MEAN && keys > 0;
#pragma unroll
    for (int n = 0; n < columns / 8; ++n)
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const int own = n * 8 + lane % 4 * 2 + side, column = first_column + own;
        if (column >= p.head_dim_v) continue;
        const float value = !dead ? output[n][2 * half + side] * inverse : of_mean ? mean[own] : instead;
        const std::int64_t place = start + column * p.o.column;
        if constexpr (std::is_same_v<T, float>) attn::store_from_float(p.o.data, place, p.o.dtype, value);
        else reinterpret_cast<T*>(p.o.data)[place] = attn::narrow<T>(value);
      }
  }
}

class Flash {
 public:
  static constexpr attn::BackendInfo info{
      .name = "flash",
      .can = ATTN_CAN_FP32 | ATTN_CAN_FP16 | ATTN_CAN_BF16 | ATTN_CAN_MIXED_KV | ATTN_CAN_GQA | ATTN_CAN_HEAD_DIM_V | ATTN_CAN_CAUSAL |
             ATTN_CAN_ALIGN_TOP_LEFT | ATTN_CAN_ALIGN_BOTTOM_RIGHT | ATTN_CAN_WINDOW | ATTN_CAN_SOFTCAP | ATTN_CAN_SCALE | ATTN_CAN_ALIBI |
             ATTN_CAN_MASK_BOOL | ATTN_CAN_MASK_ADDITIVE | ATTN_CAN_LENGTHS | ATTN_CAN_RAGGED | ATTN_CAN_PAGED | ATTN_CAN_DETERMINISTIC |
             ATTN_CAN_DROPOUT | ATTN_CAN_STRIDED | ATTN_CAN_DEAD_ZERO | ATTN_CAN_DEAD_NAN | ATTN_CAN_DEAD_MEAN | ATTN_CAN_LSE,
      .device_type = ATTN_DEVICE_CUDA};

  static attn::Support supports(const attn_problem& problem, const attn_device_facts& device) {
    if (device.sm_major < 8) throw attn::Unsupported("copies to shared memory in the background need sm_80, this device is sm_" + std::to_string(device.sm_major * 10 + device.sm_minor));
    constexpr std::int64_t kLongest = INT_MAX / 2;  // sums of two positions stay in 32 bits
    if (problem.seq_q > kLongest || problem.seq_kv > kLongest)
      throw attn::Unsupported("positions are counted in 32 bits, this case has " + std::to_string(problem.seq_q) + " queries and " + std::to_string(problem.seq_kv) + " keys");
    if (problem.dropout > 0 && problem.needs & ATTN_CAN_DEAD_MEAN) throw attn::Unsupported("dropout of the mean that a dead row gets is not written");
    if (blocks(problem) > INT_MAX) throw attn::Unsupported("more than 2147483647 blocks, which a grid cannot count");
    const std::int64_t needed = shared_bytes(problem);
    if (device.shared_optin_bytes && static_cast<std::uint64_t>(needed) > device.shared_optin_bytes)
      throw attn::Unsupported("a head_dim of " + std::to_string(problem.head_dim) + " needs " + std::to_string(needed) + " bytes of shared memory, a block of this device has " +
                              std::to_string(device.shared_optin_bytes));
    return {};
  }

  Flash(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : type_(tile_type(problem)),
        width_(width(problem)),
        blocks_(blocks(problem)),
        shared_bytes_(shared_bytes(problem)),
        forward_(problem, tensors, type_) {
    options.allow({});
    with_kernel([&](auto* kernel) {
      attn::use_device(device, kernel);
      attn::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes_)), "cudaFuncSetAttribute");
    });
  }

  void run(const attn_call& call) {
    with_kernel([&](auto* kernel) {
      attn::launch_shared(shared_bytes_, kernel, blocks_, Config::threads, static_cast<cudaStream_t>(call.stream), "attn_flash_fwd", forward_);
    });
  }

 private:
  // Mixed types are multiplied in fp32.
  static std::int32_t tile_type(const attn_problem& p) { return p.dtype == p.dtype_kv ? p.dtype : ATTN_FP32; }
  static int width(const attn_problem& p) { return p.head_dim_v <= Config::narrow ? Config::narrow : Config::wide; }
  static std::int64_t blocks(const attn_problem& p) {
    return p.batch * p.heads_kv * attn::divide_up(p.heads / p.heads_kv * p.seq_q, Config::rows) * attn::divide_up(p.head_dim_v, width(p));
  }
  static std::int64_t shared_bytes(const attn_problem& p) {
    std::int64_t bytes = 0;
    attn::with_type(tile_type(p), [&](auto value) {
      using T = decltype(value);
      bytes = static_cast<std::int64_t>(sizeof(T)) * (Config::rows * q_line<T>(p.head_dim) + 2 * Config::keys * (attn::kStageColumns<T> + attn::TileProducts<T>::pad));
    });
    return bytes;
  }
  template <class Body>
  void with_kernel(const Body& body) const {
    attn::with_type(type_, [&](auto value) {
      using T = decltype(value);
      if (width_ == Config::narrow) body(attn_flash_fwd<T, Config::narrow>);
      else body(attn_flash_fwd<T, Config::wide>);
    });
  }

  std::int32_t type_;
  int width_;
  std::int64_t blocks_, shared_bytes_;
  Forward forward_;
};

}  // namespace

ATTN_BACKENDS(Flash)
