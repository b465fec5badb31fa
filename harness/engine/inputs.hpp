#pragma once
// What stands in q, k, v and the mask: the recipes of `inputs` and `mask` (DESIGN section 5). A value depends on the logical index (batch, heads, seq,
// head_dim), the case and the seed, never on strides.

#include <array>
#include <cstdint>

#include "core/case.hpp"
#include "engine/tensor_view.hpp"

namespace attn {

// The dtype of a view of a boolean mask: one byte an element, 1 = visible. No attn_dtype; TensorView::load and store do not know it.
inline constexpr std::int32_t kBoolByte = 1000;

// Shapes: q (B, H, Sq, D), k (B, Hkv, Skv, D), v (B, Hkv, Skv, Dv). Where indices share an element (stride 0, or overlapping strides), the lowest of them
// names its value. Recipes:
//   normal           deviation 1
//   skewed           normal, but feature 0 dominates: 4 n in q, 8 + n in k
//   negative_logits  normal, but feature 0 moves every score to about -128, where exp() is 0 in float
//   poison_padding   normal, and NaN in every row past lengths_q or lengths_kv
//   visibility       q = 0, v[j] = j: an output row is the mean of the visible keys' indices (CASES P1, P2)
//   kv_head          q = 0, v = index of the KV head (P5)
//   scale_probe      feature 0 alone: q = 1, k = 0, ln 2, 0, ln 2, ...; v = 0, 3, 0, 3, ... (P3)
//   softcap_probe    feature 0 alone: scores 0, 10, 0, 10, ... after scaling, whatever the scale; v = 0, 1, 0, 1, ... (P4)
//   large_logits     every score is about 48, +- 4: a softcap of 20 to 50 flattens what stays sharp without it
//   heavy_edges      normal, but the first and the last key (of seq_kv, not of a length) have as much weight each as all the others together
//   ramp             q counts 0.1, 0.2, ..., k goes on, both start again after 3.1; v counts 1, 2, ..., 31 (R46)
// Counts in v start again at 0 before they are no longer exact in its dtype (256 in bf16). The five probes do not depend on the seed but for k of
// visibility and kv_head.
void fill_inputs(const Case& value, std::uint64_t seed, const TensorView& q, const TensorView& k, const TensorView& v);

// dout (B, H, Sq, Dv): normal numbers, whatever the recipe; rows past lengths_q are 0.
void fill_gradient(const Case& value, std::uint64_t seed, const TensorView& dout);

// `mask` is (B|1, H|1, Sq|1, Skv|1) as mask_tensor.full says; its sizes may be given as 1 or as whole with stride 0. A boolean mask holds bytes (kBoolByte),
// an additive one has the case's dtype and holds fill where a key is hidden, else 0. Patterns:
//   causal     key j of row i is visible when j <= i + (bottom_right: seq_kv - seq_q); one row for all (Sq = 1 in the mask) is the last row
//   random     half of the keys; always the key on the row's diagonal, moved into the keys; additive: visible keys carry a normal bias
//   all_true   every key
//   rows_dead  random, with no visible key in a quarter of the rows and always in the last row of every (batch, head)
// E4M3 has no infinity: its lowest number takes the place of -inf.
void fill_mask(const Case& value, std::uint64_t seed, const TensorView& mask);

// Sizes of the positions that have an element of their own: 1 on an axis of stride 0.
std::array<std::int64_t, 4> distinct_extent(const TensorView& t);
// Two of them may share an element all the same.
bool overlaps(const TensorView& t);

// The lowest finite number of an attn_dtype.
float lowest_finite(std::int32_t dtype);

}  // namespace attn
