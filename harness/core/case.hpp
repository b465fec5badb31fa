#pragma once
// A case: one attention problem as a value. It knows its own name, what it needs, its flops, its bytes and which keys a row may see.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/words.hpp"

namespace attn {

struct MaskTensor {
  MaskPattern pattern = MaskPattern::causal;
  std::array<bool, 4> full{false, false, true, true};  // (batch, heads, seq_q, seq_kv): false = size 1, broadcast
  MaskDType dtype = MaskDType::boolean;
  MaskFill fill = MaskFill::minus_infinity;            // of additive masks
  bool operator==(const MaskTensor&) const = default;
};

struct Strides {
  StrideKind q = StrideKind::dense, k = StrideKind::dense, v = StrideKind::dense, o = StrideKind::dense;
  bool operator==(const Strides&) const = default;
};

struct Case {
  std::string name;
  std::int64_t batch = 1, heads = 1, heads_kv = 1, seq_q = 1, seq_kv = 1, head_dim = 64, head_dim_v = 64;
  DType dtype = DType::fp32, dtype_kv = DType::fp32;
  Layout layout = Layout::bhsd;
  Strides strides;
  MaskKind mask = MaskKind::none;
  MaskTensor mask_tensor;                       // meaningful with MaskKind::tensor
  std::optional<Alignment> alignment;           // set when the suite names one
  std::int64_t window_left = -1, window_right = -1;
  double softcap = 0;                           // 0 = none
  std::optional<double> scale;                  // none = 1/sqrt(head_dim)
  std::optional<std::vector<double>> alibi;     // empty list = default slopes
  std::vector<std::int64_t> lengths_q, lengths_kv;  // one per batch entry, empty = full
  std::int64_t page_size = 0;                   // 0 = not paged
  PageOrder page_order = PageOrder::sequential;
  DeadRows dead_rows = DeadRows::zero;
  Pass pass = Pass::forward;
  GradLayout grad_layout = GradLayout::like_output;
  bool deterministic = false;
  double dropout = 0;
  Then then = Then::none;
  Inputs inputs = Inputs::normal;
  Cache cache = Cache::cold;
  bool operator==(const Case&) const = default;
};

// The canonical id, for example "llama3-8b/prefill:bf16/b4/h32.8/q4096.k4096/d128/causal/bshd". Fields with their default value are left out, so a field
// added later changes no old id. Injective: parse_case_id(case_id(c)) == c.
std::string case_id(const Case& value);
// Throws Error that quotes the part which is no id.
Case parse_case_id(const std::string& id);

// The first rule of DESIGN's table that `value` breaks ("heads 6 is no multiple of heads_kv 4"), or nothing.
std::optional<std::string> impossible(const Case& value);

double default_scale(const Case& value);   // 1/sqrt(head_dim)
double resolved_scale(const Case& value);  // the case's, or the default
// One slope per head: `explicit` ones, or the geometric ones of Press et al. 2022 (arXiv 2108.12409) for any head count.
std::vector<double> resolved_slopes(const Case& value);
std::vector<double> default_slopes(std::int64_t heads);

std::int64_t rows_of(const Case& value, std::int64_t batch_index);  // query rows that count: lengths_q or seq_q
std::int64_t keys_of(const Case& value, std::int64_t batch_index);  // lengths_kv or seq_kv
// Position of row 0 on the keys' axis: 0 top left, keys - rows bottom right.
std::int64_t diagonal_offset(const Case& value, std::int64_t batch_index);

struct KeyRange {
  std::int64_t first = 0, end = 0;
  std::int64_t size() const { return end > first ? end - first : 0; }
};
// The keys that causality, window and lengths leave to row `row`; a mask tensor may hide more of them.
KeyRange visible_keys(const Case& value, std::int64_t batch_index, std::int64_t row);
// True when some row is left without a key by causality, window or lengths, or by the mask tensor for some seed.
bool may_have_dead_rows(const Case& value);

// ATTN_CAN_* bits without which the answer would be another.
std::uint64_t needs(const Case& value);
// The word of each ATTN_CAN_* bit, from bit 0 on.
std::span<const char* const> capability_words();
// "bf16, gqa, causal": the words of ATTN_CAN_* bits.
std::string words_of_bits(std::uint64_t bits);

// Multiplications and additions of the two products over visible pairs: 2 * pairs * (head_dim + head_dim_v), times 3.5 when gradients are asked too
// (five products instead of two; the convention of the FlashAttention papers).
double flops(const Case& value);
// Every input read once and every output written once.
double minimal_bytes(const Case& value);

}  // namespace attn
