#include "engine/recipe.hpp"

#include <cmath>

#include "engine/inputs.hpp"

namespace attn {
namespace {

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

// The score that feature 0 alone gives: to every key, or to the keys that a recipe picks out.
double score_of(const Case& c) {
  switch (c.inputs) {
    case Inputs::negative_logits: return -128.0;
    case Inputs::large_logits: return 48.0;
    case Inputs::heavy_edges: return std::log(static_cast<double>(c.seq_kv)) + 0.5;  // about as much weight as all normal scores together
    default: return 10.0;
  }
}

// The power of two that widens scores of deviation |scale| sqrt(head_dim) to about 4.
float spread_of(const Case& c) {
  const double deviation = std::fabs(resolved_scale(c)) * std::sqrt(static_cast<double>(c.head_dim));
  if (!(deviation > 0x1p-60) || !(deviation < 0x1p60)) return 1;
  return static_cast<float>(std::exp2(std::round(std::log2(4.0 / deviation))));
}

bool is_of_queries(Operand operand) { return operand == Operand::q || operand == Operand::dout; }

bool is_random(Inputs inputs, Operand operand) {
  if (operand == Operand::dout) return true;
  switch (inputs) {
    case Inputs::scale_probe:
    case Inputs::softcap_probe:
    case Inputs::ramp: return false;
    case Inputs::visibility:
    case Inputs::kv_head: return operand == Operand::k;
    default: return true;
  }
}

}  // namespace

std::int64_t length_of(const Case& value, Operand operand, std::int64_t b) { return is_of_queries(operand) ? rows_of(value, b) : keys_of(value, b); }

InputRecipe input_recipe(const Case& c, Operand operand, std::uint64_t seed) {
  const bool is_q = operand == Operand::q, of_queries = is_of_queries(operand);
  const Pair pair = pair_for(score_of(c), resolved_scale(c));
  InputRecipe recipe;
  recipe.inputs = c.inputs;
  recipe.operand = operand;
  recipe.stream = is_q ? RandomStream::q : operand == Operand::k ? RandomStream::k : operand == Operand::v ? RandomStream::v : RandomStream::dout;
  recipe.seed = seed;
  recipe.heads = of_queries ? c.heads : c.heads_kv;
  recipe.seq = of_queries ? c.seq_q : c.seq_kv;
  recipe.dim = operand == Operand::v || operand == Operand::dout ? c.head_dim_v : c.head_dim;
  recipe.ramp_first = operand == Operand::k ? c.batch * c.heads * c.seq_q * c.head_dim : 0;
  recipe.counts = exact_counts(static_cast<std::int32_t>(c.dtype_kv));
  recipe.pair = is_q ? pair.q : pair.k;
  recipe.spread = spread_of(c);
  recipe.random = is_random(c.inputs, operand);
  return recipe;
}

MaskRecipe mask_recipe(const Case& c, std::int32_t dtype, std::uint64_t seed) {
  const MaskTensor& tensor = c.mask_tensor;
  const auto size = [&](std::size_t axis, std::int64_t whole) { return tensor.full[axis] ? whole : 1; };
  MaskRecipe recipe;
  recipe.pattern = tensor.pattern;
  recipe.boolean = tensor.dtype == MaskDType::boolean;
  recipe.biased = !recipe.boolean && mask_is_random(recipe);
  recipe.seed = seed;
  recipe.batches = size(0, c.batch);
  recipe.heads = size(1, c.heads);
  recipe.rows = size(2, c.seq_q);
  recipe.keys = size(3, c.seq_kv);
  recipe.first_own = (c.alignment == Alignment::bottom_right ? c.seq_kv - c.seq_q : 0) + (tensor.full[2] ? 0 : c.seq_q - 1);
  const bool infinite = tensor.fill == MaskFill::minus_infinity && dtype != ATTN_FP8_E4M3;
  recipe.fill = infinite ? -std::numeric_limits<float>::infinity() : lowest_finite(dtype);
  return recipe;
}

}  // namespace attn
