#include "engine/inputs.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "engine/parallel.hpp"
#include "engine/philox.hpp"

namespace attn {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kRampPeriod = 31;  // prime, so that rows of any usual head_dim differ

// Counts 0 .. n - 1 are exact in the dtype.
std::int64_t exact_counts(std::int32_t dtype) {
  switch (dtype) {
    case ATTN_FP32: return 1 << 24;
    case ATTN_FP16: return 2048;
    case ATTN_BF16: return 256;
    case ATTN_FP8_E4M3: return 16;
    default: return 8;
  }
}

// q and k of feature 0 for which scale * q * k is about `score`: q is a power of two, both are near the square root of the product.
struct Pair {
  float q = 1, k = 1;
};
Pair pair_for(double score, double scale) {
  const double product = score / scale;
  if (!std::isfinite(product) || product == 0) return {};
  int exponent = 0;
  std::frexp(std::sqrt(std::fabs(product)), &exponent);
  const double q = std::ldexp(1.0, exponent - 1);
  return {static_cast<float>(q), static_cast<float>(product / q)};
}

// The values of one row of head_dim or head_dim_v elements, by logical position.
class Recipe {
 public:
  Recipe(const Case& value, std::uint64_t seed)
      : c_(value), seed_(seed), counts_(exact_counts(static_cast<std::int32_t>(value.dtype_kv))),
        pair_(pair_for(value.inputs == Inputs::negative_logits ? -128.0 : 10.0, resolved_scale(value))) {}

  void q(std::int64_t b, std::int64_t h, std::int64_t s, float* out) const {
    const std::int64_t first = ((b * c_.heads + h) * c_.seq_q + s) * c_.head_dim;
    switch (c_.inputs) {
      case Inputs::visibility:
      case Inputs::kv_head: std::fill_n(out, c_.head_dim, 0.0f); return;
      case Inputs::scale_probe: only_feature(1.0f, out); return;
      case Inputs::softcap_probe: only_feature(pair_.q, out); return;
      case Inputs::ramp: ramp(first, out); return;
      default: break;
    }
    random_normals(seed_, RandomStream::q, static_cast<std::uint64_t>(first), c_.head_dim, out);
    if (c_.inputs == Inputs::skewed) out[0] *= 4.0f;
    if (c_.inputs == Inputs::negative_logits) out[0] = pair_.q;
    if (c_.inputs == Inputs::poison_padding && s >= rows_of(c_, b)) std::fill_n(out, c_.head_dim, kNan);
  }

  void k(std::int64_t b, std::int64_t h, std::int64_t s, float* out) const {
    const std::int64_t first = ((b * c_.heads_kv + h) * c_.seq_kv + s) * c_.head_dim;
    switch (c_.inputs) {
      case Inputs::scale_probe: only_feature(s % 2 == 0 ? 0.0f : 0.693147181f, out); return;
      case Inputs::softcap_probe: only_feature(s % 2 == 0 ? 0.0f : pair_.k, out); return;
      case Inputs::ramp: ramp(c_.batch * c_.heads * c_.seq_q * c_.head_dim + first, out); return;
      default: break;
    }
    random_normals(seed_, RandomStream::k, static_cast<std::uint64_t>(first), c_.head_dim, out);
    if (c_.inputs == Inputs::skewed) out[0] += 8.0f;
    if (c_.inputs == Inputs::negative_logits) out[0] = pair_.k;
    if (c_.inputs == Inputs::poison_padding && s >= keys_of(c_, b)) std::fill_n(out, c_.head_dim, kNan);
  }

  void v(std::int64_t b, std::int64_t h, std::int64_t s, float* out) const {
    const std::int64_t first = ((b * c_.heads_kv + h) * c_.seq_kv + s) * c_.head_dim_v;
    const auto all = [&](std::int64_t number) { std::fill_n(out, c_.head_dim_v, static_cast<float>(number)); };
    switch (c_.inputs) {
      case Inputs::visibility: all(s % counts_); return;
      case Inputs::kv_head: all(h % counts_); return;
      case Inputs::scale_probe: all(s % 2 == 0 ? 0 : 3); return;
      case Inputs::softcap_probe: all(s % 2); return;
      case Inputs::ramp:
        for (std::int64_t d = 0; d < c_.head_dim_v; ++d) out[d] = static_cast<float>((first + d) % kRampPeriod + 1);
        return;
      default: break;
    }
    random_normals(seed_, RandomStream::v, static_cast<std::uint64_t>(first), c_.head_dim_v, out);
    if (c_.inputs == Inputs::poison_padding && s >= keys_of(c_, b)) std::fill_n(out, c_.head_dim_v, kNan);
  }

 private:
  void only_feature(float first, float* out) const {
    std::fill_n(out, c_.head_dim, 0.0f);
    out[0] = first;
  }
  void ramp(std::int64_t first, float* out) const {
    for (std::int64_t d = 0; d < c_.head_dim; ++d) out[d] = static_cast<float>((first + d) % kRampPeriod + 1) / 10.0f;
  }

  const Case& c_;
  std::uint64_t seed_;
  std::int64_t counts_;
  Pair pair_;
};

// Two logical positions (besides those of stride 0) may share an element.
bool overlaps(const TensorView& t, const std::array<std::int64_t, 4>& extent) {
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return t.strides[a] < t.strides[b]; });
  std::int64_t reach = 0;
  for (const std::size_t axis : order) {
    if (extent[axis] < 2) continue;
    if (t.strides[axis] <= reach) return true;
    reach += t.strides[axis] * (extent[axis] - 1);
  }
  return false;
}

// Writes make_row(b, h, s, buffer) to every row; of positions that share an element the lowest one wins.
template <class MakeRow>
void fill_rows(const TensorView& t, const MakeRow& make_row) {
  std::array<std::int64_t, 4> extent = t.shape;
  for (std::size_t i = 0; i < 4; ++i)
    if (t.strides[i] == 0) extent[i] = std::min<std::int64_t>(extent[i], 1);
  const std::int64_t rows = extent[0] * extent[1] * extent[2];
  const auto write = [&](std::int64_t row, float* buffer) {
    const std::int64_t s = row % extent[2], h = row / extent[2] % extent[1], b = row / extent[2] / extent[1];
    make_row(b, h, s, buffer);
    for (std::int64_t d = extent[3] - 1; d >= 0; --d) t.store(b, h, s, d, buffer[d]);
  };
  const auto width = static_cast<std::size_t>(t.shape[3]);
  if (overlaps(t, extent)) {  // from the last to the first, so that the lowest index stays
    std::vector<float> buffer(width);
    for (std::int64_t row = rows - 1; row >= 0; --row) write(row, buffer.data());
    return;
  }
  parallel_for(rows, std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, t.shape[3])), [&](std::int64_t first, std::int64_t end) {
    std::vector<float> buffer(width);
    for (std::int64_t row = first; row < end; ++row) write(row, buffer.data());
  });
}

}  // namespace

float lowest_finite(std::int32_t dtype) {
  switch (dtype) {
    case ATTN_FP32: return std::numeric_limits<float>::lowest();
    case ATTN_FP16: return -65504.0f;
    case ATTN_BF16: return bf16_to_float(0xff7f);
    case ATTN_FP8_E4M3: return -448.0f;
    default: return -57344.0f;
  }
}

void fill_inputs(const Case& value, std::uint64_t seed, const TensorView& q, const TensorView& k, const TensorView& v) {
  const Recipe recipe(value, seed);
  fill_rows(q, [&](std::int64_t b, std::int64_t h, std::int64_t s, float* out) { recipe.q(b, h, s, out); });
  fill_rows(k, [&](std::int64_t b, std::int64_t h, std::int64_t s, float* out) { recipe.k(b, h, s, out); });
  fill_rows(v, [&](std::int64_t b, std::int64_t h, std::int64_t s, float* out) { recipe.v(b, h, s, out); });
}

void fill_mask(const Case& c, std::uint64_t seed, const TensorView& mask) {
  const auto& full = c.mask_tensor.full;
  const bool boolean = c.mask_tensor.dtype == MaskDType::boolean;
  const bool random = c.mask_tensor.pattern == MaskPattern::random || c.mask_tensor.pattern == MaskPattern::rows_dead;
  const std::int64_t batches = full[0] ? c.batch : 1, heads = full[1] ? c.heads : 1, rows = full[2] ? c.seq_q : 1, keys = full[3] ? c.seq_kv : 1;
  const std::int64_t offset = c.alignment == Alignment::bottom_right ? c.seq_kv - c.seq_q : 0, words = (keys + 31) / 32;
  float fill = lowest_finite(mask.dtype);
  if (c.mask_tensor.fill == MaskFill::minus_infinity && mask.dtype != ATTN_FP8_E4M3) fill = -std::numeric_limits<float>::infinity();

  parallel_for(batches * heads * rows, std::max<std::int64_t>(1, 16384 / keys), [&](std::int64_t first, std::int64_t end) {
    std::vector<std::uint8_t> visible(static_cast<std::size_t>(keys));
    std::vector<float> bias(static_cast<std::size_t>(keys));
    for (std::int64_t line = first; line < end; ++line) {
      const std::int64_t row = line % rows, h = line / rows % heads, b = line / rows / heads;
      const std::int64_t own = std::clamp<std::int64_t>((full[2] ? row : c.seq_q - 1) + offset, -1, keys - 1);
      switch (c.mask_tensor.pattern) {
        case MaskPattern::all_true: std::fill(visible.begin(), visible.end(), std::uint8_t{1}); break;
        case MaskPattern::causal:
          for (std::int64_t j = 0; j < keys; ++j) visible[static_cast<std::size_t>(j)] = j <= own;
          break;
        default: {
          const bool dead = c.mask_tensor.pattern == MaskPattern::rows_dead &&
                            (row == rows - 1 || random_bits(seed, RandomStream::mask_row, static_cast<std::uint64_t>(line)) % 4 == 0);
          std::uint32_t bits = 0;
          for (std::int64_t j = 0; j < keys; ++j) {
            if (j % 32 == 0) bits = random_bits(seed, RandomStream::mask, static_cast<std::uint64_t>(line * words + j / 32));
            visible[static_cast<std::size_t>(j)] = !dead && (bits >> (j % 32) & 1u);
          }
          if (!dead) visible[static_cast<std::size_t>(std::max<std::int64_t>(own, 0))] = 1;
        }
      }
      if (boolean) {
        auto* const data = static_cast<std::uint8_t*>(mask.data);
        for (std::int64_t j = 0; j < keys; ++j) data[mask.offset(b, h, row, j)] = visible[static_cast<std::size_t>(j)];
        continue;
      }
      if (random) random_normals(seed, RandomStream::mask_bias, static_cast<std::uint64_t>(line * keys), keys, bias.data());
      for (std::int64_t j = 0; j < keys; ++j)
        mask.store(b, h, row, j, visible[static_cast<std::size_t>(j)] ? bias[static_cast<std::size_t>(j)] : fill);
    }
  });
}

}  // namespace attn
