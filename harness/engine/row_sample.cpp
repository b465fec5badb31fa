#include "engine/row_sample.hpp"

#include <algorithm>
#include <set>

#include "engine/philox.hpp"

namespace attn {
namespace {

constexpr std::int64_t kRowsPerPair = 64;      // about, of a sampled (batch, head)
constexpr std::int64_t kMaskCellsScanned = 1 << 22;  // in search of dead rows, per (batch, head)

struct Pair {
  std::int64_t batch, head;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(random_bits(seed_, RandomStream::row_sample, next_++) % static_cast<std::uint64_t>(count));
  }

 private:
  std::uint64_t seed_, next_ = 0;
};

// The rows of one (batch, head) that a sample never leaves out.
std::set<std::int64_t> telling_rows(const Case& c, const TensorView& mask, bool dead_rows, const Pair& pair, Random& random) {
  const std::int64_t rows = rows_of(c, pair.batch), keys = keys_of(c, pair.batch), offset = diagonal_offset(c, pair.batch);
  std::set<std::int64_t> chosen;
  const auto add_around = [&](std::int64_t row) {
    for (const std::int64_t near : {row - 1, row, row + 1})
      if (near >= 0 && near < rows) chosen.insert(near);
  };
  for (const std::int64_t end : {std::int64_t{0}, rows - 1, keys - offset, -offset}) add_around(end);
  for (const std::int64_t tile : {16, 64, 128}) {
    add_around(tile);
    add_around((rows - 1) / tile * tile);
    if (rows > tile) add_around((random.below((rows - 1) / tile) + 1) * tile);
  }
  // The dead rows at both ends of the sequence: by causality and window they lie there, and the mask tensor is scanned from both ends.
  const Reading reading{.value = c, .text = {}};
  std::int64_t cells = kMaskCellsScanned;
  const auto first_dead = [&](std::int64_t from, std::int64_t step) {
    for (std::int64_t row = from; row >= 0 && row < rows && cells > 0; row += step, cells -= c.mask == MaskKind::tensor ? keys : 1)
      if (is_dead(reading, mask, {pair.batch, pair.head, row})) return add_around(row);
  };
  if (dead_rows) {
    first_dead(0, 1);
    cells = kMaskCellsScanned;
    first_dead(rows - 1, -1);
  }
  return chosen;
}

}  // namespace

std::vector<OutputRow> sample_rows(const Case& c, const TensorView& mask, std::uint64_t seed, const SampleLimits& limits) {
  double all = 0;
  for (std::int64_t b = 0; b < c.batch; ++b) all += static_cast<double>(rows_of(c, b)) * static_cast<double>(c.heads);
  std::vector<OutputRow> sample;
  Case forward = c;
  forward.pass = Pass::forward;
  const double cost = flops(forward);
  const double affordable = std::min(cost <= limits.flops ? all : limits.flops / (cost / all), limits.elements / static_cast<double>(c.head_dim_v));
  if (all <= affordable) {
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t h = 0; h < c.heads; ++h)
        for (std::int64_t row = 0; row < rows_of(c, b); ++row) sample.push_back({b, h, row});
    return sample;
  }

  Random random(seed);
  // Batch entries with no rows have nothing to check; the first and the last that have some, with the first and the last head.
  std::vector<std::int64_t> batches;
  for (std::int64_t b = 0; b < c.batch; ++b)
    if (rows_of(c, b) > 0) batches.push_back(b);
  const auto pairs = static_cast<std::int64_t>(batches.size()) * c.heads;
  const double rows_per_pair = std::min(static_cast<double>(kRowsPerPair), all / static_cast<double>(pairs));
  const std::int64_t wanted = std::min(std::max<std::int64_t>(2, static_cast<std::int64_t>(affordable / rows_per_pair)), pairs);
  std::set<std::int64_t> numbers{0, pairs - 1};
  if (wanted == pairs)
    for (std::int64_t i = 0; i < pairs; ++i) numbers.insert(i);
  // Drawing with repetition loses some pairs; a bound on the draws keeps it simple.
  for (std::int64_t draws = 0; draws < 2 * wanted && static_cast<std::int64_t>(numbers.size()) < wanted; ++draws) numbers.insert(random.below(pairs));

  const auto quota = static_cast<std::int64_t>(affordable / static_cast<double>(numbers.size()));
  const bool dead_rows = may_have_dead_rows(c);
  for (const std::int64_t number : numbers) {
    const Pair pair{batches[static_cast<std::size_t>(number / c.heads)], number % c.heads};
    const std::int64_t rows = rows_of(c, pair.batch);
    std::set<std::int64_t> chosen = telling_rows(c, mask, dead_rows, pair, random);
    for (std::int64_t i = static_cast<std::int64_t>(chosen.size()); i < std::min(quota, rows); ++i) chosen.insert(random.below(rows));
    for (const std::int64_t row : chosen) sample.push_back({pair.batch, pair.head, row});
  }
  return sample;
}

}  // namespace attn
