#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/gpu_operands.hpp"
#include "engine/gpu_rows.hpp"

namespace attn {
namespace {

constexpr std::int64_t kScoreBytes = std::int64_t{512} << 20;  // of a chunk, when it has more than one tile
constexpr std::int64_t kEnoughBlocks = 1024, kFewestKeys = 128;  // sums are cut into parts until there are enough blocks or few keys a part
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 30;

DeviceView device_view(const TensorView& t) {
  DeviceView view{t.data, t.dtype, {}, t.rows.device, t.shape[2]};
  std::copy_n(t.strides.begin(), 4, view.strides);
  return view;
}

// Where arrays begin in one piece of memory.
class Arrangement {
 public:
  std::size_t add(std::int64_t count, std::size_t element_bytes) {
    const std::size_t at = bytes_;
    bytes_ += (static_cast<std::size_t>(count) * element_bytes + 255) / 256 * 256;
    return at;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

// The rows in tiles, the tiles in chunks.
struct Tiling {
  std::vector<RowPlan> plans;  // rows of a KV head follow each other
  std::vector<RowGroup> groups;
  std::vector<RowTile> tiles;
  std::vector<TileChunk> chunks;
  std::int64_t tile_rows = kFullTile, keys_per_part = kFewestKeys;
  std::int64_t scores = 0, partials = 0;  // elements that the largest chunk needs
};

void plan_rows(const Reading& reading, const TensorView& mask, std::span<const OutputRow> rows, Tiling& tiling) {
  const RowPlanner planner(reading, mask);
  const auto before = [](const RowPlan& a, const RowPlan& b) { return a.batch != b.batch ? a.batch < b.batch : a.kv_head < b.kv_head; };
  tiling.plans.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) tiling.plans.push_back(planner(rows[i], i));
  if (!std::is_sorted(tiling.plans.begin(), tiling.plans.end(), before)) std::stable_sort(tiling.plans.begin(), tiling.plans.end(), before);
}

void form_tiles(bool masked, Tiling& tiling) {
  std::vector<std::size_t> starts;  // of the groups
  for (std::size_t i = 0; i < tiling.plans.size(); ++i) {
    const RowPlan& plan = tiling.plans[i];
    if (tiling.groups.empty() || tiling.groups.back().batch != plan.batch || tiling.groups.back().kv_head != plan.kv_head) {
      tiling.groups.push_back({plan.batch, plan.kv_head, 0});
      starts.push_back(i);
    }
  }
  starts.push_back(tiling.plans.size());
  if (tiling.plans.size() <= 2 * kSmallTile * tiling.groups.size()) tiling.tile_rows = kSmallTile;
  for (std::size_t g = 0; g < tiling.groups.size(); ++g)
    for (std::size_t first = starts[g]; first < starts[g + 1]; first += static_cast<std::size_t>(tiling.tile_rows)) {
      RowTile tile{.first_row = static_cast<std::int64_t>(first), .rows = std::min(tiling.tile_rows, static_cast<std::int64_t>(starts[g + 1] - first)),
                   .group = static_cast<std::int64_t>(g), .low = std::numeric_limits<std::int64_t>::max()};
      for (const RowPlan& plan : std::span(tiling.plans).subspan(first, static_cast<std::size_t>(tile.rows))) {
        const auto reads = [&](std::int64_t from, std::int64_t to) {
          if (from >= to) return;
          tile.low = std::min(tile.low, from);
          tile.high = std::max(tile.high, to);
        };
        reads(plan.first, plan.end);
        if (masked) reads(0, plan.dead_end);  // the mask may hide all of the row's keys
      }
      tile.low = std::min(tile.low, tile.high);
      tiling.groups[g].end = std::max(tiling.groups[g].end, tile.high);
      tiling.tiles.push_back(tile);
    }
}

void form_chunks(std::int64_t head_dim_v, std::size_t number_bytes, bool in_order, Tiling& tiling) {
  std::int64_t widest = 1;
  for (const RowTile& tile : tiling.tiles) widest = std::max(widest, tile.high - tile.low);
  const std::int64_t blocks = static_cast<std::int64_t>(tiling.tiles.size()) * ((head_dim_v + kTileColumns - 1) / kTileColumns);
  const std::int64_t parts = in_order ? 1 : std::clamp<std::int64_t>(kEnoughBlocks / std::max<std::int64_t>(1, blocks), 1, (widest + kFewestKeys - 1) / kFewestKeys);
  tiling.keys_per_part = (widest + parts - 1) / parts;

  TileChunk chunk;
  std::int64_t scores = 0, partials = 0;
  const auto close = [&] {
    tiling.chunks.push_back(chunk);
    tiling.scores = std::max(tiling.scores, scores);
    tiling.partials = std::max(tiling.partials, partials);
    chunk = {.first_tile = chunk.first_tile + chunk.tiles, .tiles = 0, .widest = 0};
    scores = partials = 0;
  };
  for (RowTile& tile : tiling.tiles) {
    const std::int64_t width = tile.high - tile.low, own_parts = (width + tiling.keys_per_part - 1) / tiling.keys_per_part;
    const std::int64_t own_scores = tiling.tile_rows * width, own_partials = own_parts * tiling.tile_rows * head_dim_v;
    const bool full = (scores + partials + own_scores + own_partials) * static_cast<std::int64_t>(number_bytes) > kScoreBytes ||
                      (chunk.tiles + 1) * (std::max(chunk.widest, width) + tiling.tile_rows) > kMostBlocks;
    if (chunk.tiles > 0 && full) close();
    tile.scores = scores;
    tile.partials = partials;
    scores += own_scores;
    partials += own_partials;
    ++chunk.tiles;
    chunk.widest = std::max(chunk.widest, width);
  }
  close();
}

template <class T>
void upload(std::byte* to, const std::vector<T>& from, cudaStream_t stream) {
  const std::size_t bytes = from.size() * sizeof(T);
  check_cuda(cudaMemcpyAsync(to, from.data(), bytes, cudaMemcpyHostToDevice, stream), fmt::format("cudaMemcpyAsync of {} bytes to the device", bytes));
}
template <class T>
void download(std::vector<T>& to, const T* from, std::size_t count, cudaStream_t stream) {
  to.resize(count);
  const std::size_t bytes = count * sizeof(T);
  check_cuda(cudaMemcpyAsync(to.data(), from, bytes, cudaMemcpyDeviceToHost, stream), fmt::format("cudaMemcpyAsync of {} bytes to the host", bytes));
}

}  // namespace

std::byte* GpuReference::scratch(std::size_t bytes, std::size_t rows) const {
  if (bytes > scratch_bytes_) {
    scratch_.reset();
    scratch_bytes_ = 0;
    check_cuda(cudaMalloc(scratch_.out(), bytes), fmt::format("the reference of {} rows needs {} bytes of device memory: cudaMalloc", rows, bytes));
    scratch_bytes_ = bytes;
  }
  return static_cast<std::byte*>(scratch_.get());
}

template <class Steps>
Evaluation GpuReference::evaluate(const Reading& reading, std::span<const OutputRow> rows) const {
  using Number = typename Steps::Number;
  const Case& c = reading.value;
  Evaluation result;
  result.columns = c.head_dim_v;
  if (rows.empty()) return result;

  const Scoring<Steps> scoring(reading, mask_reader(reading, operands_.mask));
  Tiling tiling;
  plan_rows(reading, operands_.mask, rows, tiling);
  form_tiles(static_cast<bool>(scoring.mask), tiling);
  form_chunks(c.head_dim_v, sizeof(Number), Steps::kInOrder, tiling);

  const auto count = static_cast<std::int64_t>(rows.size()), groups = static_cast<std::int64_t>(tiling.groups.size());
  Arrangement arrangement;
  const std::size_t plans_at = arrangement.add(count, sizeof(RowPlan)), groups_at = arrangement.add(groups, sizeof(RowGroup));
  const std::size_t tiles_at = arrangement.add(static_cast<std::int64_t>(tiling.tiles.size()), sizeof(RowTile));
  const std::size_t largest_at = arrangement.add(groups * c.seq_kv, sizeof(float)), divisors_at = arrangement.add(count, sizeof(Number));
  const std::size_t scores_at = arrangement.add(tiling.scores, sizeof(Number)), partials_at = arrangement.add(tiling.partials, sizeof(Number));
  const std::size_t out_at = arrangement.add(count * c.head_dim_v, sizeof(double)), lse_at = arrangement.add(count, sizeof(double));
  const std::vector<std::int64_t> k_rows = misread_rows(reading, operands_.k), v_rows = misread_rows(reading, operands_.v);
  const std::size_t k_rows_at = arrangement.add(static_cast<std::int64_t>(k_rows.size()), sizeof(std::int64_t));
  const std::size_t v_rows_at = arrangement.add(static_cast<std::int64_t>(v_rows.size()), sizeof(std::int64_t));
  const std::size_t noise_at = arrangement.add(count, sizeof(double)), visible_at = arrangement.add(count, sizeof(std::int64_t));
  const bool dropping = c.dropout > 0;
  const std::size_t squares_at = arrangement.add(dropping ? groups * c.seq_kv : 0, sizeof(double));
  const std::size_t scatter_at = arrangement.add(dropping ? count : 0, sizeof(double)), scatter_squares_at = arrangement.add(dropping ? count : 0, sizeof(double));
  std::byte* const memory = scratch(arrangement.bytes(), rows.size());
  const auto point = [&]<class T>(T*& pointer, std::size_t offset) { pointer = reinterpret_cast<T*>(memory + offset); };

  upload(memory + plans_at, tiling.plans, stream_);
  upload(memory + groups_at, tiling.groups, stream_);
  upload(memory + tiles_at, tiling.tiles, stream_);
  RowWork<Steps> work;
  work.q = device_view(operands_.q);
  const Keys keys = misread_keys(reading, operands_);
  work.k = device_view(keys.k);
  work.v = device_view(keys.v);
  if (!k_rows.empty()) {
    upload(memory + k_rows_at, k_rows, stream_);
    upload(memory + v_rows_at, v_rows, stream_);
    point(work.k.rows, k_rows_at);
    point(work.v.rows, v_rows_at);
  }
  work.head_dim = c.head_dim;
  work.head_dim_v = c.head_dim_v;
  work.seq_kv = c.seq_kv;
  work.nan_rows = c.dead_rows == DeadRows::nan;
  work.row_count = count;
  work.group_count = groups;
  work.tile_rows = tiling.tile_rows;
  work.keys_per_part = tiling.keys_per_part;
  point(work.plans, plans_at);
  point(work.groups, groups_at);
  point(work.tiles, tiles_at);
  point(work.largest, largest_at);
  point(work.divisors, divisors_at);
  point(work.scores, scores_at);
  point(work.partials, partials_at);
  point(work.out, out_at);
  point(work.lse, lse_at);
  point(work.noise, noise_at);
  point(work.visible, visible_at);
  if (dropping) {
    point(work.squares, squares_at);
    point(work.scatter, scatter_at);
    point(work.scatter_squares, scatter_squares_at);
  }
  enqueue_rows(work, scoring, tiling.chunks, stream_);

  // The host's memory is made while the device works.
  download(result.out, work.out, rows.size() * static_cast<std::size_t>(c.head_dim_v), stream_);
  download(result.lse, work.lse, rows.size(), stream_);
  download(result.noise, work.noise, rows.size(), stream_);
  download(result.visible, work.visible, rows.size(), stream_);
  if (dropping) {
    download(result.scatter, work.scatter, rows.size(), stream_);
    download(result.scatter_squares, work.scatter_squares, rows.size(), stream_);
  }
  check_cuda(cudaStreamSynchronize(stream_), fmt::format("the reference of {} rows", rows.size()));
  return result;
}

Evaluation GpuReference::exact(const Reading& reading, std::span<const OutputRow> rows) const { return evaluate<Exact>(reading, rows); }
Evaluation GpuReference::naive(const Reading& reading, std::span<const OutputRow> rows) const { return evaluate<Naive>(reading, rows); }

}  // namespace attn
