#include "engine/inputs.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/parallel.hpp"
#include "engine/recipe.hpp"

namespace attn {
namespace {

// Writes make_row(b, h, s, buffer) to every row that there is; of positions that share an element the lowest one wins.
template <class MakeRow>
void fill_rows(const TensorView& t, const MakeRow& make_row) {
  const std::array<std::int64_t, 4> extent = distinct_extent(t);
  const std::int64_t rows = extent[0] * extent[1] * extent[2];
  const auto write = [&](std::int64_t row, float* buffer) {
    const std::int64_t s = row % extent[2], h = row / extent[2] % extent[1], b = row / extent[2] / extent[1];
    if (!t.has_row(b, s)) return;
    make_row(b, h, s, buffer);
    for (std::int64_t d = extent[3] - 1; d >= 0; --d) t.store(b, h, s, d, buffer[d]);
  };
  const auto width = static_cast<std::size_t>(t.shape[3]);
  if (overlaps(t)) {  // from the last to the first, so that the lowest index stays
    std::vector<float> buffer(width);
    for (std::int64_t row = rows - 1; row >= 0; --row) write(row, buffer.data());
    return;
  }
  parallel_for(rows, std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, t.shape[3])), [&](std::int64_t first, std::int64_t end) {
    std::vector<float> buffer(width);
    for (std::int64_t row = first; row < end; ++row) write(row, buffer.data());
  });
}

void fill_operand(const Case& c, std::uint64_t seed, Operand operand, const TensorView& t) {
  const InputRecipe recipe = input_recipe(c, operand, seed);
  fill_rows(t, [&](std::int64_t b, std::int64_t h, std::int64_t s, float* out) {
    const std::int64_t first = ((b * recipe.heads + h) * recipe.seq + s) * recipe.dim;
    const bool valid = s < length_of(c, operand, b);
    if (recipe.random) random_normals(seed, recipe.stream, static_cast<std::uint64_t>(first), recipe.dim, out);
    for (std::int64_t d = 0; d < recipe.dim; ++d) out[d] = input_value(recipe, h, s, d, first + d, valid, out[d]);
  });
}

}  // namespace

std::array<std::int64_t, 4> distinct_extent(const TensorView& t) {
  std::array<std::int64_t, 4> extent = t.shape;
  for (std::size_t i = 0; i < 4; ++i)
    if (t.strides[i] == 0 && !(t.rows && i % 2 == 0)) extent[i] = std::min<std::int64_t>(extent[i], 1);
  return extent;
}

bool overlaps(const TensorView& t) {
  if (t.rows) return false;
  const std::array<std::int64_t, 4> extent = distinct_extent(t);
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
  fill_operand(value, seed, Operand::q, q);
  fill_operand(value, seed, Operand::k, k);
  fill_operand(value, seed, Operand::v, v);
}

void fill_gradient(const Case& value, std::uint64_t seed, const TensorView& dout) { fill_operand(value, seed, Operand::dout, dout); }

void fill_mask(const Case& value, std::uint64_t seed, const TensorView& mask) {
  const MaskRecipe whole = mask_recipe(value, mask.dtype, seed);
  const std::int64_t keys = whole.keys, step = mask.strides[3];
  auto* const bytes = static_cast<std::uint8_t*>(mask.data);
  parallel_for(whole.batches * whole.heads * whole.rows, std::max<std::int64_t>(1, 16384 / keys), [=, &mask](std::int64_t first, std::int64_t end) {
    const MaskRecipe recipe = whole;  // a copy that the bytes written below cannot alias, so that it stays in registers
    std::vector<float> bias(recipe.biased ? static_cast<std::size_t>(keys) : 0);
    for (std::int64_t number = first; number < end; ++number) {
      const MaskLine line = mask_line(recipe, number);
      const std::int64_t base = mask.offset(number / recipe.rows / recipe.heads, number / recipe.rows % recipe.heads, number % recipe.rows, 0);
      if (recipe.biased) random_normals(seed, RandomStream::mask_bias, static_cast<std::uint64_t>(number * keys), keys, bias.data());
      for (std::int64_t word = 0; word < keys; word += 32) {
        const std::uint32_t bits = mask_is_random(recipe) ? mask_bits(recipe, number, word / 32) : 0;
        for (std::int64_t j = word; j < std::min(keys, word + 32); ++j) {
          const bool shown = mask_shows(recipe, line, j, bits);
          if (recipe.boolean) bytes[base + j * step] = shown;
          else store_element(mask.data, base + j * step, mask.dtype, !shown ? recipe.fill : recipe.biased ? bias[static_cast<std::size_t>(j)] : 0.0f);
        }
      }
    }
  });
}

}  // namespace attn
