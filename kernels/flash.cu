// arch: 80 90-real
// Blocked attention with an online softmax on the GPU: one kernel, and nothing of size seq_q x seq_kv is ever stored.
//
// The loop order is FlashAttention-2's (Dao 2023, arXiv 2307.08691): a tile of 64 query rows stays in shared memory, blocks of 64 keys pass by; blocks that
// causality or a window hides are never touched. The query heads that share a KV head are rows of the same tile, so that grouped heads read their keys once.
// A block of keys arrives as stages, pieces of k and then of v that are 256 bytes wide; the next stage is copied while the present one is multiplied. 16-bit
// types are multiplied on tensor cores, fp32 and mixed types by FMA (flash_products.cuh). It shares no kernel with chain.cu, so the two bear witness for each other.
// Loses: nothing is split over the keys, so decoding leaves most of the card idle; no TMA, no wgmma; the softmax does not overlap the products of its own warp.

#include "dropout.hpp"
#include "flash_products.cuh"
#include "gpu_rows.cuh"

namespace {

using attn::GpuRows;
using attn::Strided;

struct Config {
  static constexpr int warps = 4, threads = 32 * warps, rows = 16 * warps, keys = attn::kTileKeys;
  static constexpr int stage_bytes = 256;  // of one row of a stage
  // Columns of the output that one block keeps in registers. Wider outputs take several blocks, and each computes the scores again.
  static constexpr int narrow = 64, wide = 128;
  static_assert(rows == keys, "load_rows brings as many query rows as keys");
  static_assert(keys % 8 == 0, "a pass of loads brings eight rows");
  static_assert(threads * 16 == 8 * stage_bytes, "... of a whole stage each");
};

template <class T>
constexpr int kStageColumns = Config::stage_bytes / static_cast<int>(sizeof(T));

// Everything of a call; `type`: of the tile, ATTN_FP32 for mixed types.
struct Forward {
  Forward(const attn_problem& problem, const attn_tensors& tensors, std::int32_t type)
      : rows(problem, tensors),
        q(Strided::of_queries(*tensors.q, problem, tensors)),
        k(Strided::of_keys(*tensors.k, problem, tensors)),
        v(Strided::of_keys(*tensors.v, problem, tensors)),
        o(Strided::of_queries(*tensors.o, problem, tensors)),
        q_copies(copies(q, type, problem.head_dim)),
        k_copies(copies(k, type, problem.head_dim)),
        v_copies(copies(v, type, problem.head_dim_v)),
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
  // Whether rows of `columns` can be copied to shared memory as they are, 16 bytes at a time.
  static bool copies(const Strided& view, std::int32_t type, std::int64_t columns) {
    const auto element = static_cast<std::int64_t>(attn::element_bytes(type));
    const auto whole = [&](std::int64_t distance) { return distance * element % 16 == 0; };
    return view.dtype == type && view.column == 1 && reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0 && whole(columns) && whole(view.row) && whole(view.head) &&
           whole(view.batch);
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

// Columns first .. of Config::keys rows (or as many query rows) into a stage: `columns` of them, of which `real` exist; the others, and rows at a negative place,
// become 0. `place`: element (row, 0).
template <class T, class Place>
__device__ void load_rows(T* to, int line, const Strided& from, bool copies, int first, int real, int columns, const Place& place) {
  constexpr int kPieces = Config::stage_bytes / 16, kPack = attn::kPack<T>;
  const int column = static_cast<int>(threadIdx.x) % kPieces * kPack;
  if (column >= columns) return;
#pragma unroll 4
  for (int row = static_cast<int>(threadIdx.x) / kPieces; row < Config::keys; row += Config::threads / kPieces) {
    const std::int64_t start = place(row);
    T* target = to + row * line + column;
    if (start < 0 || column >= real) {
      *reinterpret_cast<uint4*>(target) = uint4{};
    } else if (copies) {
      const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(target));
      const T* source = reinterpret_cast<const T*>(from.data) + start + first + column;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(source));
    } else {
#pragma unroll
      for (int n = 0; n < kPack; ++n)
        target[n] = column + n < real ? attn::narrow<T>(attn::load_as_float(from.data, start + (first + column + n) * from.column, from.dtype)) : attn::narrow<T>(0.0f);
    }
  }
}

// One of a thread's two query rows.
struct Row {
  bool exists, real;  // real: no padding
  int first = 0, end = 0, own;  // the keys that it may see; its position on their axis
  float slope;
  std::int64_t mask;  // element (b, h, i, 0)
  float most = -INFINITY, total = 0;
};

// Apart, because ten rounds of Philox in the middle of a softmax would take its registers.
__device__ __noinline__ float2 dropped(attn::Dropout dropout, std::int64_t row, int key, float2 weights) {
  float pair[2] = {weights.x, weights.y};
  dropout(row, pair, pair, 2, key);
  return {pair[0], pair[1]};
}

template <class T, int columns>
__global__ void __launch_bounds__(Config::threads) attn_flash_fwd(const __grid_constant__ Forward p) {
  using Products = attn::TileProducts<T>;
  constexpr int kStage = kStageColumns<T>, kValues = columns < kStage ? columns : kStage, kLine = kStage + Products::pad;
  static_assert(columns % kValues == 0, "the output is whole stages of v");
  extern __shared__ uint4 room[];
  const int line = static_cast<int>(q_line<T>(p.head_dim));
  T* const q = reinterpret_cast<T*>(room);
  T* const stages[2] = {q + Config::rows * line, q + Config::rows * line + Config::keys * kLine};

  // Last rows first: with a causal mask they are the longest.
  const std::int64_t count = p.group * p.rows.seq_q, tiles = (count + Config::rows - 1) / Config::rows;
  const int column_blocks = (p.head_dim_v + columns - 1) / columns;
  std::int64_t index = blockIdx.x;
  const std::int64_t first_row = (tiles - 1 - index % tiles) * Config::rows;
  index /= tiles;
  const int first_column = static_cast<int>(index % column_blocks) * columns;
  index /= column_blocks;
  const std::int64_t kv_head = index % p.heads_kv, b = index / p.heads_kv;
  const std::int64_t queries = p.rows.queries(b), keys = p.rows.keys(b);

  const auto padded = [](int width) { return (width + Products::depth - 1) / Products::depth * Products::depth; };
  const int k_stages = (p.head_dim + kStage - 1) / kStage;
  const auto k_columns = [&](int stage) { return min(kStage, padded(p.head_dim - stage * kStage)); };
  const auto fetch_k = [&](T* to, int key, int stage) {
    load_rows(to, kLine, p.k, p.k_copies, stage * kStage, p.head_dim - stage * kStage, k_columns(stage),
              [&](int n) { return key + n < keys ? p.k.place(b, key + n) + kv_head * p.k.head : -1; });
  };
  const auto fetch_v = [&](T* to, int key, int stage) {
    const int column = first_column + stage * kValues;
    load_rows(to, kLine, p.v, p.v_copies, column, p.head_dim_v - column, kValues,
              [&](int n) { return key + n < keys ? p.v.place(b, key + n) + kv_head * p.v.head : -1; });
  };
  for (int stage = 0; stage < k_stages; ++stage)
    load_rows(q + stage * kStage, line, p.q, p.q_copies, stage * kStage, p.head_dim - stage * kStage, k_columns(stage), [&](int n) -> std::int64_t {
      const std::int64_t i = (first_row + n) / p.group, h = kv_head * p.group + (first_row + n) % p.group;
      return first_row + n < count && i < queries ? p.q.place(b, i) + h * p.q.head : -1;
    });

  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const auto place_of = [&](int half) {
    const std::int64_t n = first_row + warp * 16 + half * 8 + lane / 4;
    return attn::Place{b, kv_head * p.group + n % p.group, n / p.group};
  };
  Row rows[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    Row& row = rows[half];
    const attn::Place at = place_of(half);
    row.exists = at.i < p.rows.seq_q;
    row.real = at.i < queries;
    if (row.real) {
      const attn::Keys seen = p.rows.visible(b, at.i);
      row.first = static_cast<int>(min(seen.first, keys));
      row.end = static_cast<int>(min(seen.end, keys));
    }
    row.own = static_cast<int>(at.i + p.rows.offset(b));
    row.slope = p.rows.slopes && row.exists ? p.rows.slopes[at.h * p.rows.slope_stride] : 0.0f;
    row.mask = p.rows.mask ? p.rows.mask_row(at) : 0;
  }

  // The tile's keys: from the first that its first row sees to the last that its last row sees.
  int lowest = 0, highest = 0;
  if (first_row / p.group < queries) {
    const std::int64_t last = min((min(first_row + Config::rows, count) - 1) / p.group, queries - 1);
    lowest = static_cast<int>(min(p.rows.visible(b, first_row / p.group).first, keys));
    highest = static_cast<int>(min(p.rows.visible(b, last).end, keys));
  }

  // Scores of a block become weights; returns by which factor each row's earlier sums shrink.
  const auto weigh = [&](attn::TileSums<Config::keys>& s, int key, float (&factor)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Row& row = rows[half];
      const bool whole = key >= row.first && key + Config::keys <= row.end;
      float most = row.most;
#pragma unroll
      for (int n = 0; n < Config::keys / 8; ++n)
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          float& score = s[n][2 * half + side];
          const int j = key + n * 8 + lane % 4 * 2 + side;
          score *= p.scale;
          if (p.softcap != 0.0f) score = p.softcap * tanhf(score / p.softcap);
          if (p.rows.slopes) score -= row.slope * static_cast<float>(abs(row.own - j));
          if (!whole && (j < row.first || j >= row.end)) {
            score = -INFINITY;
          } else if (p.rows.mask) {
            const std::int64_t at = row.mask + j * p.rows.mask_strides[3];
            if (!p.rows.bool_mask) score += attn::load_as_float(p.rows.mask, at, p.mask_dtype);
            else if (!p.rows.mask[at]) score = -INFINITY;
          }
          most = fmaxf(most, score);
        }
#pragma unroll
      for (int distance = 1; distance < 4; distance *= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, distance));
      const float shift = most == -INFINITY ? 0.0f : most;
      factor[half] = attn::exponential<T>(row.most - shift);
      row.most = most;
      float sum = 0;
#pragma unroll
      for (int n = 0; n < Config::keys / 8; ++n)
#pragma unroll
        for (int side = 0; side < 2; ++side) sum += s[n][2 * half + side] = attn::exponential<T>(s[n][2 * half + side] - shift);
      row.total = row.total * factor[half] + sum;
      if (!p.dropout) continue;
      const attn::Place at = place_of(half);
      const std::int64_t number = (b * p.rows.heads + at.h) * p.rows.seq_q + at.i;
#pragma unroll
      for (int n = 0; n < Config::keys / 8; ++n) {
        float* const pair = s[n] + 2 * half;
        const float2 kept = dropped(p.dropout, number, key + n * 8 + lane % 4 * 2, {pair[0], pair[1]});
        pair[0] = kept.x;
        pair[1] = kept.y;
      }
    }
  };

  float output[columns / 8][4];
  const auto clear = [&] {
#pragma unroll
    for (auto& sums : output)
#pragma unroll
      for (float& sum : sums) sum = 0.0f;
  };
  // Of the stage that is ready; the next one arrives in the other.
  int present = 1;
  const auto next_stage = [&](const auto& fetch) {
    asm volatile("cp.async.wait_all;");
    __syncthreads();  // it is here for everybody, and nobody reads the other any more
    present ^= 1;
    fetch(stages[present ^ 1]);
    return stages[present];
  };
  // All blocks of keys; without scores every weight is 1.
  const auto pass = [&](auto scored, int from, int to) {
    clear();
    if (from >= to) return;
    const auto begin = [&](T* room, int key) {
      if constexpr (scored) fetch_k(room, key, 0);
      else fetch_v(room, key, 0);
    };
    __syncthreads();
    begin(stages[present ^ 1], from);
    for (int key = from; key < to; key += Config::keys) {
      attn::TileSums<Config::keys> weights;
#pragma unroll
      for (auto& four : weights)
#pragma unroll
        for (float& weight : four) weight = scored ? 0.0f : 1.0f;
      if constexpr (scored) {
        for (int stage = 0; stage < k_stages; ++stage) {
          const T* k = next_stage([&](T* room) { stage + 1 < k_stages ? fetch_k(room, key, stage + 1) : fetch_v(room, key, 0); });
          Products::scores(weights, q + warp * 16 * line + stage * kStage, line, k, kLine, k_columns(stage));
        }
        float factor[2];
        weigh(weights, key, factor);
#pragma unroll
        for (auto& sums : output)
#pragma unroll
          for (int n = 0; n < 4; ++n) sums[n] *= factor[n / 2];
      }
#pragma unroll
      for (int stage = 0; stage < columns / kValues; ++stage) {
        const T* v = next_stage([&](T* room) {
          if (stage + 1 < columns / kValues) fetch_v(room, key, stage + 1);
          else if (key + Config::keys < to) begin(room, key + Config::keys);
        });
        Products::template outputs<kValues>(output + stage * kValues / 8, weights, v, kLine);
      }
    }
  };
  // A row of o is the output times `factor`, or `instead` in all columns.
  const auto write = [&](const Row& row, int half, float factor, bool replaced, float instead) {
    if (!row.exists || (!row.real && p.o.only_real_rows())) return;
    const attn::Place at = place_of(half);
    const std::int64_t start = p.o.place(b, at.i) + at.h * p.o.head;
#pragma unroll
    for (int n = 0; n < columns / 8; ++n)
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const int column = first_column + n * 8 + lane % 4 * 2 + side;
        if (column < p.head_dim_v) attn::store_from_float(p.o.data, start + column * p.o.column, p.o.dtype, replaced ? instead : output[n][2 * half + side] * factor);
      }
  };

  pass(std::true_type{}, lowest, highest);
  bool wants_mean = false;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    Row& row = rows[half];
#pragma unroll
    for (int distance = 1; distance < 4; distance *= 2) row.total += __shfl_xor_sync(0xffffffffu, row.total, distance);
    const bool dead = row.total == 0.0f, mean = dead && row.real && p.dead_rows == ATTN_DEAD_MEAN && keys > 0;
    wants_mean = wants_mean || mean;
    if (!mean) write(row, half, 1.0f / row.total, dead, row.real && p.dead_rows == ATTN_DEAD_NAN ? NAN : 0.0f);
    if (!p.lse || !row.exists || first_column != 0 || lane % 4 != 0) continue;
    const attn::Place at = place_of(half);
    p.lse[b * p.lse_strides[0] + at.h * p.lse_strides[1] + at.i * p.lse_strides[2]] = dead ? -INFINITY : row.most + logf(row.total);
  }
  if (!__syncthreads_or(wants_mean)) return;
  pass(std::false_type{}, 0, static_cast<int>(keys));
#pragma unroll
  for (int half = 0; half < 2; ++half)
    if (rows[half].total == 0.0f && rows[half].real) write(rows[half], half, 1.0f / static_cast<float>(keys), false, 0.0f);
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
      bytes = static_cast<std::int64_t>(sizeof(T)) * (Config::rows * q_line<T>(p.head_dim) + 2 * Config::keys * (kStageColumns<T> + attn::TileProducts<T>::pad));
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
