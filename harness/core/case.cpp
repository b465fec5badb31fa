#include "core/case.hpp"

#include <algorithm>
#include <cmath>

#include "abi/attn_abi.h"
#include "abi/attn_dtype.hpp"
#include "base/error.hpp"

namespace attn {
namespace {

bool has_diagonal(const Case& c) { return c.mask == MaskKind::causal || c.window_left >= 0 || c.window_right >= 0; }

bool has_lengths(const Case& c) { return !c.lengths_q.empty() || !c.lengths_kv.empty(); }

double bytes_of(DType dtype) { return static_cast<double>(element_bytes(static_cast<std::int32_t>(dtype))); }

// The first sequence for which top left and bottom right differ: its rows and keys are not as many, and it has both.
std::optional<std::int64_t> first_uneven(const Case& c) {
  for (std::int64_t b = 0; b < (has_lengths(c) ? c.batch : 1); ++b)
    if (rows_of(c, b) != keys_of(c, b) && rows_of(c, b) > 0 && keys_of(c, b) > 0) return b;
  return std::nullopt;
}

// Whether the mask tensor may hide all of a row's keys, for some seed: the key that its pattern always shows (fill_mask in engine/inputs.hpp) is none of them.
// The mask's diagonal runs through seq_q x seq_kv, whatever the lengths.
bool mask_may_hide(const Case& c, std::int64_t row, const KeyRange& keys) {
  const MaskTensor& mask = c.mask_tensor;
  const bool by_value = mask.dtype == MaskDType::dtype, infinite = mask.fill == MaskFill::minus_infinity && c.dtype != DType::fp8_e4m3;
  if (by_value && !infinite) return false;
  const bool each_row = mask.full[2], each_key = mask.full[3];
  const std::int64_t own = (each_row ? row : c.seq_q - 1) + (c.alignment == Alignment::bottom_right ? c.seq_kv - c.seq_q : 0);
  const std::int64_t shown = std::clamp<std::int64_t>(own, 0, c.seq_kv - 1);
  switch (mask.pattern) {
    case MaskPattern::all_true: return false;
    case MaskPattern::causal: return own < (each_key ? keys.first : 0);
    case MaskPattern::random: return each_key && (shown < keys.first || shown >= keys.end);
    case MaskPattern::rows_dead: return true;
  }
  return true;
}

}  // namespace

std::int64_t rows_of(const Case& c, std::int64_t b) { return c.lengths_q.empty() ? c.seq_q : c.lengths_q[static_cast<std::size_t>(b)]; }
std::int64_t keys_of(const Case& c, std::int64_t b) { return c.lengths_kv.empty() ? c.seq_kv : c.lengths_kv[static_cast<std::size_t>(b)]; }

std::int64_t diagonal_offset(const Case& c, std::int64_t b) {
  return c.alignment == Alignment::bottom_right ? keys_of(c, b) - rows_of(c, b) : 0;
}

KeyRange visible_keys(const Case& c, std::int64_t b, std::int64_t row) {
  const std::int64_t keys = keys_of(c, b), own = row + diagonal_offset(c, b);
  KeyRange range{0, row < rows_of(c, b) ? keys : 0};
  if (c.mask == MaskKind::causal) range.end = std::min(range.end, own + 1);
  if (c.window_right >= 0) range.end = std::min(range.end, own + c.window_right + 1);
  if (c.window_left >= 0) range.first = std::max(range.first, own - c.window_left);
  range.end = std::max(range.end, range.first);
  return range;
}

bool may_have_dead_rows(const Case& c) {
  for (std::int64_t b = 0; b < (has_lengths(c) ? c.batch : 1); ++b)
    for (std::int64_t row = 0; row < rows_of(c, b); ++row) {
      const KeyRange keys = visible_keys(c, b, row);
      if (keys.size() == 0 || (c.mask == MaskKind::tensor && mask_may_hide(c, row, keys))) return true;
    }
  return false;
}

double default_scale(const Case& c) { return 1.0 / std::sqrt(static_cast<double>(c.head_dim)); }
double resolved_scale(const Case& c) { return c.scale.value_or(default_scale(c)); }

std::vector<double> default_slopes(std::int64_t heads) {
  const auto geometric = [](std::int64_t n) {
    std::vector<double> slopes;
    for (std::int64_t i = 1; i <= n; ++i) slopes.push_back(std::exp2(-8.0 * static_cast<double>(i) / static_cast<double>(n)));
    return slopes;
  };
  std::int64_t power = 1;
  while (power * 2 <= heads) power *= 2;
  std::vector<double> slopes = geometric(power);
  const std::vector<double> finer = geometric(2 * power);
  for (std::size_t i = 0; static_cast<std::int64_t>(slopes.size()) < heads; i += 2) slopes.push_back(finer[i]);
  return slopes;
}

std::vector<double> resolved_slopes(const Case& c) {
  if (!c.alibi) return {};
  return c.alibi->empty() ? default_slopes(c.heads) : *c.alibi;
}

std::optional<std::string> impossible(const Case& c) {
  const auto positive = [](std::int64_t value) { return value > 0; };
  for (const auto& [name, value] : {std::pair{"batch", c.batch}, {"heads", c.heads}, {"heads_kv", c.heads_kv}, {"seq_q", c.seq_q}, {"seq_kv", c.seq_kv},
                                    {"head_dim", c.head_dim}, {"head_dim_v", c.head_dim_v}})
    if (!positive(value)) return fmt::format("{} is {}; it must be at least 1", name, value);
  if (c.heads % c.heads_kv != 0) return fmt::format("heads {} is no multiple of heads_kv {}", c.heads, c.heads_kv);
  // ALiBi and a causal mask tensor hang on the diagonal just as causal does.
  const bool anchored = has_diagonal(c) || c.alibi || (c.mask == MaskKind::tensor && c.mask_tensor.pattern == MaskPattern::causal);
  if (anchored && !c.alignment && c.seq_q != c.seq_kv)
    return fmt::format("alignment is required (top_left or bottom_right): causal, a window or alibi is set and seq_q {} differs from seq_kv {}", c.seq_q, c.seq_kv);
  const auto fits = [&](const std::vector<std::int64_t>& lengths, const char* name, std::int64_t longest) -> std::optional<std::string> {
    if (lengths.empty()) return std::nullopt;
    if (static_cast<std::int64_t>(lengths.size()) != c.batch) return fmt::format("lengths.{} has {} entries, but batch is {}", name, lengths.size(), c.batch);
    for (const std::int64_t length : lengths)
      if (length < 0 || length > longest) return fmt::format("lengths.{} holds {}; allowed are 0 to {}", name, length, longest);
    return std::nullopt;
  };
  if (auto why = fits(c.lengths_q, "q", c.seq_q)) return why;
  if (auto why = fits(c.lengths_kv, "kv", c.seq_kv)) return why;
  if ((has_diagonal(c) || c.alibi) && !c.alignment)
    if (const auto uneven = first_uneven(c))
      return fmt::format("alignment is required (top_left or bottom_right): causal, a window or alibi is set and sequence {} has {} rows and {} keys; "
                         "varlen kernels anchor bottom_right", *uneven, rows_of(c, *uneven), keys_of(c, *uneven));
  if (c.alibi && !c.alibi->empty() && static_cast<std::int64_t>(c.alibi->size()) != c.heads)
    return fmt::format("alibi.slopes has {} entries, but heads is {}", c.alibi->size(), c.heads);
  if (c.page_size < 0) return fmt::format("page_size is {}; it must be at least 1", c.page_size);
  if (c.page_size > 0 && c.lengths_kv.empty()) return "page_size needs lengths.kv";
  if (c.page_size > 0 && c.pass != Pass::forward) return "page_size needs pass: forward; pages hold a decoding cache, which has no gradients";
  if (c.page_size == 0 && c.page_order != PageOrder::sequential) return "page_order needs page_size";
  if (c.layout == Layout::thd && (c.lengths_q.empty() || c.lengths_kv.empty())) return "layout thd needs lengths.q and lengths.kv";
  if (c.layout == Layout::packed_qkv) {
    if (c.seq_q != c.seq_kv || c.head_dim != c.head_dim_v || c.dtype != c.dtype_kv || c.page_size > 0)
      return "layout packed_qkv needs seq_q = seq_kv, head_dim = head_dim_v, dtype = dtype_kv and no pages";
    if (!(c.strides == Strides{})) return "layout packed_qkv leaves no room for strides";
  }
  if (c.strides.o == StrideKind::expanded) return "strides.o cannot be expanded: two heads would be written to one place";
  // Beyond this a product with ordinary scores leaves fp32.
  constexpr double kLargest = 1e30;
  for (const double value : {c.softcap, c.scale.value_or(0)})
    if (std::abs(value) > kLargest) return fmt::format("scale and softcap are at most {:g}; found {:g}", kLargest, value);
  for (const double slope : resolved_slopes(c))
    if (!(std::abs(slope) <= kLargest)) return fmt::format("alibi.slopes are at most {:g}; found {:g}", kLargest, slope);
  if (!(c.softcap >= 0) || !std::isfinite(c.softcap)) return fmt::format("softcap is {}; it must be a finite number, 0 or more", c.softcap);
  if (c.scale && !std::isfinite(*c.scale)) return fmt::format("scale is {}; it must be a finite number", *c.scale);
  if (!(c.dropout >= 0 && c.dropout < 1)) return fmt::format("dropout is {}; it must be in [0, 1)", c.dropout);
  if (c.window_left < -1 || c.window_right < -1) return "a window's bounds are -1 (unbounded) or more";
  if (c.pass == Pass::forward && c.grad_layout != GradLayout::like_output) return "grad_layout needs pass: backward or forward_backward";
  return std::nullopt;
}

std::uint64_t needs(const Case& c) {
  constexpr std::uint64_t by_dtype[] = {ATTN_CAN_FP32, ATTN_CAN_FP16, ATTN_CAN_BF16, ATTN_CAN_FP8, ATTN_CAN_FP8};
  std::uint64_t bits = by_dtype[static_cast<int>(c.dtype)] | by_dtype[static_cast<int>(c.dtype_kv)];
  const auto need = [&](bool condition, std::uint64_t bit) { bits |= condition ? bit : 0; };
  need(c.dtype != c.dtype_kv, ATTN_CAN_MIXED_KV);
  need(c.heads != c.heads_kv, ATTN_CAN_GQA);
  need(c.head_dim != c.head_dim_v, ATTN_CAN_HEAD_DIM_V);
  need(c.mask == MaskKind::causal, ATTN_CAN_CAUSAL);
  // ALiBi counts distance from the diagonal; moving it shifts a row's scores by one constant only while no distance changes sign, so it anchors too.
  if ((has_diagonal(c) || c.alibi) && first_uneven(c))
    bits |= c.alignment == Alignment::bottom_right ? ATTN_CAN_ALIGN_BOTTOM_RIGHT : ATTN_CAN_ALIGN_TOP_LEFT;
  need(c.window_left >= 0 || c.window_right >= 0, ATTN_CAN_WINDOW);
  need(c.softcap != 0, ATTN_CAN_SOFTCAP);
  need(resolved_scale(c) != default_scale(c), ATTN_CAN_SCALE);
  need(c.alibi.has_value(), ATTN_CAN_ALIBI);
  need(c.mask == MaskKind::tensor, c.mask_tensor.dtype == MaskDType::boolean ? ATTN_CAN_MASK_BOOL : ATTN_CAN_MASK_ADDITIVE);
  need(has_lengths(c), c.layout == Layout::thd ? ATTN_CAN_RAGGED : ATTN_CAN_LENGTHS);
  need(c.page_size > 0, ATTN_CAN_PAGED);
  need(c.pass != Pass::forward, ATTN_CAN_BACKWARD);
  need(c.deterministic, ATTN_CAN_DETERMINISTIC);
  need(c.dropout != 0, ATTN_CAN_DROPOUT);
  need(!(c.strides == Strides{}), ATTN_CAN_STRIDED);
  if (may_have_dead_rows(c)) {
    constexpr std::uint64_t by_policy[] = {ATTN_CAN_DEAD_ZERO, ATTN_CAN_DEAD_NAN, ATTN_CAN_DEAD_MEAN};
    bits |= by_policy[static_cast<int>(c.dead_rows)];
  }
  return bits;
}

std::span<const char* const> capability_words() {
  static constexpr const char* kWords[] = {"fp32",     "fp16",    "bf16",          "fp8",     "mixed dtype_kv", "gqa",       "head_dim_v",  "causal",   "top_left",
                                           "bottom_right", "window", "softcap",   "scale",   "alibi",  "bool mask", "additive mask", "lengths", "ragged (thd)", "paged",
                                           "backward", "deterministic", "dropout", "strides", "dead_rows zero", "dead_rows nan", "dead_rows mean", "lse"};
  return kWords;
}

std::string words_of_bits(std::uint64_t bits) {
  const auto words = capability_words();
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (bits >> i & 1) text += (text.empty() ? "" : ", ") + std::string(words[i]);
  return text;
}

double flops(const Case& c) {
  double pairs = 0;
  const bool alike = c.lengths_q.empty() && c.lengths_kv.empty();  // all sequences of the batch
  for (std::int64_t b = 0; b < (alike ? 1 : c.batch); ++b)
    for (std::int64_t row = 0; row < rows_of(c, b); ++row) pairs += static_cast<double>(visible_keys(c, b, row).size());
  if (alike) pairs *= static_cast<double>(c.batch);
  const double forward = 2.0 * pairs * static_cast<double>(c.heads) * static_cast<double>(c.head_dim + c.head_dim_v);
  switch (c.pass) {
    case Pass::forward: return forward;
    case Pass::backward: return 2.5 * forward;
    default: return 3.5 * forward;
  }
}

double minimal_bytes(const Case& c) {
  double rows = 0, keys = 0;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    rows += static_cast<double>(rows_of(c, b));
    keys += static_cast<double>(keys_of(c, b));
  }
  const auto d = static_cast<double>(c.head_dim), dv = static_cast<double>(c.head_dim_v);
  const double q = rows * static_cast<double>(c.heads) * d * bytes_of(c.dtype), o = rows * static_cast<double>(c.heads) * dv * bytes_of(c.dtype);
  const double kv = keys * static_cast<double>(c.heads_kv) * (d + dv) * bytes_of(c.dtype_kv);
  double bytes = c.pass == Pass::backward ? 0 : q + kv + o;
  if (c.pass != Pass::forward) bytes += 2 * (q + kv + o);  // reads q k v o dout, writes dq dk dv
  if (c.mask == MaskKind::tensor) {
    double elements = 1;
    const double sizes[] = {static_cast<double>(c.batch), static_cast<double>(c.heads), static_cast<double>(c.seq_q), static_cast<double>(c.seq_kv)};
    for (std::size_t i = 0; i < 4; ++i) elements *= c.mask_tensor.full[i] ? sizes[i] : 1;
    bytes += elements * (c.mask_tensor.dtype == MaskDType::boolean ? 1 : bytes_of(c.dtype));
  }
  return bytes;
}

}  // namespace attn
