#pragma once
// The kernels behind GpuReference, and what they are given. Rows that read one KV head form tiles; tiles form chunks whose scores fit into memory together.

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <span>

#include "engine/score.hpp"

namespace attn {

inline constexpr std::int64_t kFullTile = 64, kSmallTile = 8;  // rows of a tile: many rows per KV head, or few (decode)
inline constexpr std::int64_t kTileColumns = 64;               // keys, or features of v, that a block of threads works on

struct DeviceView {
  const void* data = nullptr;
  std::int32_t dtype = ATTN_FP32;
  std::int64_t strides[4]{};
  const std::int64_t* rows = nullptr;  // (batch, seq) as in RowTable; null: by strides
  std::int64_t seq = 0;
  // Element (b, h, s, 0).
  ATTN_HOST_DEVICE std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t s) const {
    return (rows ? rows[b * seq + s] : b * strides[0] + s * strides[2]) + h * strides[1];
  }
};

struct RowGroup {
  std::int64_t batch = 0, kv_head = 0, end = 0;  // a KV head; end: past the last key that a row reads
};

struct RowTile {
  std::int64_t first_row = 0, rows = 0;          // in the order of the plans
  std::int64_t group = 0;
  std::int64_t low = 0, high = 0;                // keys that its rows read
  std::int64_t scores = 0;                       // where its scores begin in the chunk's memory: (tile rows, high - low)
  std::int64_t partials = 0;                     // where its partial outputs begin: (parts, tile rows, head_dim_v)
};

struct TileChunk {
  std::int64_t first_tile = 0, tiles = 0, widest = 0;  // widest: the most keys of a tile
};

// All memory is the device's.
template <class Steps>
struct RowWork {
  using Number = typename Steps::Number;
  DeviceView q, k, v;
  std::int64_t head_dim = 0, head_dim_v = 0, seq_kv = 0;
  bool nan_rows = false;                         // what dead rows hold: NaN, else 0
  std::int64_t row_count = 0, group_count = 0, tile_rows = kFullTile;
  std::int64_t keys_per_part = 0;                // the sum over the keys is made in parts, which are added in order
  RowPlan* plans = nullptr;
  const RowGroup* groups = nullptr;
  const RowTile* tiles = nullptr;
  float* largest = nullptr;                      // (groups, seq_kv): largest |v| of a key
  double* squares = nullptr;                     // (groups, seq_kv): |v|^2; null, and the two scatters with it: not asked
  Number* divisors = nullptr;                    // (rows): what outputs are divided by
  Number* scores = nullptr;                      // of one chunk, later its weights
  Number* partials = nullptr;
  double *out = nullptr, *lse = nullptr, *noise = nullptr, *scatter = nullptr, *scatter_squares = nullptr;  // as in Evaluation, by RowPlan::index
  std::int64_t* visible = nullptr;
};

// Enqueues the whole evaluation.
template <class Steps>
void enqueue_rows(const RowWork<Steps>& work, const Scoring<Steps>& scoring, std::span<const TileChunk> chunks, cudaStream_t stream);

}  // namespace attn
