#pragma once
// The recipes of inputs.hpp, one element at a time: a value is a function of its logical position, the random number of that position and plain parameters,
// so that the host's loops and a GPU's kernels share every formula.

#include <cstdint>
#include <limits>

#include "core/case.hpp"
#include "engine/philox.hpp"

namespace attn {

enum class Operand { q, k, v, dout };

// What stands in one of the operands.
struct InputRecipe {
  Inputs inputs = Inputs::normal;
  Operand operand = Operand::q;
  RandomStream stream = RandomStream::q;
  std::uint64_t seed = 0;
  std::int64_t heads = 1, seq = 1, dim = 1;  // sizes: position (b, h, s, d) has the number ((b * heads + h) * seq + s) * dim + d
  std::int64_t ramp_first = 0;               // the ramp's count at number 0
  std::int64_t counts = 1;                   // 0 .. counts - 1 are exact in v's dtype
  float pair = 1;                            // feature 0 of the recipes that set a score
  float spread = 1;                          // of large_logits: what widens q, a power of two
  bool random = true;                        // values need the normals of their numbers
};
InputRecipe input_recipe(const Case& value, Operand operand, std::uint64_t seed);
// Rows of the operand in one sequence that are no padding.
std::int64_t length_of(const Case& value, Operand operand, std::int64_t b);

inline constexpr std::int64_t kRampPeriod = 31;  // prime, so that rows of any usual head_dim differ

// The value of element `d` of row (., h, s); `number` as above. `valid`: the row is not past its sequence's length. `normal`: of that number, where the
// recipe is random. dout is random whatever the recipe, and 0 past a length.
ATTN_HOST_DEVICE inline float input_value(const InputRecipe& recipe, std::int64_t h, std::int64_t s, std::int64_t d, std::int64_t number, bool valid,
                                          float normal) {
  const bool is_q = recipe.operand == Operand::q, is_v = recipe.operand == Operand::v, first = d == 0, odd = s % 2 == 1;
  if (recipe.operand == Operand::dout) return valid ? normal : 0.0f;
  switch (recipe.inputs) {
    case Inputs::normal: return normal;
    case Inputs::skewed:
      if (is_v || !first) return normal;
      return is_q ? rounded_product(normal, 4.0f) : normal + 8.0f;
    case Inputs::negative_logits: return is_v || !first ? normal : recipe.pair;
    case Inputs::poison_padding: return valid ? normal : std::numeric_limits<float>::quiet_NaN();
    case Inputs::visibility: return is_q ? 0.0f : is_v ? static_cast<float>(s % recipe.counts) : normal;
    case Inputs::kv_head: return is_q ? 0.0f : is_v ? static_cast<float>(h % recipe.counts) : normal;
    case Inputs::scale_probe:
      if (is_v) return odd ? 3.0f : 0.0f;
      if (!first) return 0.0f;
      return is_q ? 1.0f : odd ? 0.693147181f : 0.0f;
    case Inputs::softcap_probe:
      if (is_v) return odd ? 1.0f : 0.0f;
      return first && (is_q || odd) ? recipe.pair : 0.0f;
    case Inputs::ramp: {
      const auto count = static_cast<float>((recipe.ramp_first + number) % kRampPeriod + 1);
      return is_v ? count : count / 10.0f;
    }
    case Inputs::large_logits: return is_v ? normal : first ? recipe.pair : is_q ? rounded_product(normal, recipe.spread) : normal;
    case Inputs::heavy_edges:
      if (is_v || !first) return normal;
      return is_q || s == 0 || s == recipe.seq - 1 ? recipe.pair : 0.0f;
  }
  return normal;
}

// What stands in the mask. A line is a row of keys, counted over the mask's own (batch, heads, seq_q).
struct MaskRecipe {
  MaskPattern pattern = MaskPattern::causal;
  bool boolean = true, biased = false;                      // biased: visible keys carry a normal number
  std::uint64_t seed = 0;
  std::int64_t batches = 1, heads = 1, rows = 1, keys = 1;  // of the mask, broadcast sizes 1
  std::int64_t first_own = 0;                               // the key on the diagonal of the mask's row 0
  float fill = 0;                                           // of hidden keys
};
MaskRecipe mask_recipe(const Case& value, std::int32_t dtype, std::uint64_t seed);

struct MaskLine {
  std::int64_t line = 0, own = 0;  // own: the key on the diagonal, moved into -1 .. keys - 1
  bool dead = false;               // by the pattern rows_dead
};
ATTN_HOST_DEVICE inline MaskLine mask_line(const MaskRecipe& recipe, std::int64_t line) {
  const std::int64_t row = line % recipe.rows, own = row + recipe.first_own;
  MaskLine result{line, own < -1 ? -1 : own > recipe.keys - 1 ? recipe.keys - 1 : own, false};
  if (recipe.pattern == MaskPattern::rows_dead)
    result.dead = row == recipe.rows - 1 || random_bits(recipe.seed, RandomStream::mask_row, static_cast<std::uint64_t>(line)) % 4 == 0;
  return result;
}

// The 32 random bits of keys 32 * word .. of a line.
ATTN_HOST_DEVICE inline std::uint32_t mask_bits(const MaskRecipe& recipe, std::int64_t line, std::int64_t word) {
  return random_bits(recipe.seed, RandomStream::mask, static_cast<std::uint64_t>(line * ((recipe.keys + 31) / 32) + word));
}

// `bits`: those of the key's word, where the pattern is random.
ATTN_HOST_DEVICE inline bool mask_shows(const MaskRecipe& recipe, const MaskLine& line, std::int64_t key, std::uint32_t bits) {
  if (recipe.pattern == MaskPattern::all_true) return true;
  if (recipe.pattern == MaskPattern::causal) return key <= line.own;
  if (line.dead) return false;
  const bool diagonal = key == (line.own > 0 ? line.own : 0);
  return ((bits >> (key % 32) & 1u) | static_cast<std::uint32_t>(diagonal)) != 0;  // no branch: it would be mispredicted for every other key
}
ATTN_HOST_DEVICE inline bool mask_is_random(const MaskRecipe& recipe) {
  return recipe.pattern == MaskPattern::random || recipe.pattern == MaskPattern::rows_dead;
}

}  // namespace attn
