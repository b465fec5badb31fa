#pragma once
// Attention of single rows on the host, twice: in double precision from the inputs as the backend sees them (what is right), and as a naive
// implementation in the case's own dtype would (how far off one may be).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/case.hpp"
#include "engine/tensor_view.hpp"

namespace attn {

struct Operands {
  TensorView q, k, v;  // (B, H, Sq, D), (B, Hkv, Skv, D), (B, Hkv, Skv, Dv)
  TensorView mask;     // as fill_mask; empty without a mask tensor
};

struct OutputRow {
  std::int64_t batch = 0, head = 0, row = 0;
  bool operator==(const OutputRow&) const = default;
};

// Which KV head a query head reads: h / (H / Hkv), h % Hkv, or h / Hkv (only for heads below Hkv^2).
enum class HeadMap { grouped, modulo, divided_by_kv };

// A case as a backend may have read it; `text` is empty for the right reading, else "softcap ignored".
struct Reading {
  Case value;
  HeadMap head_map = HeadMap::grouped;
  bool mask_inverted = false;
  bool alibi_by_key = false;        // the bias is slope * key, or slope * (key - own): in a row it is the same
  bool padded_diagonal = false;     // the diagonal lies as in a sequence of seq_q queries and seq_kv keys, whatever the lengths say
  bool kv_strides_ignored = false;  // k and v lie dense, (B, Hkv, Skv, D), whatever their strides say; never with key_places
  bool kv_dtype_ignored = false;    // k and v are taken to have q's dtype, which is as long
  bool kv_swapped = false;          // k is taken for v; never with key_places
  // Where the backend looks for key (batch, seq): key place % seq_kv of sequence place / seq_kv of ragged k and v, place n % page_size of page n / page_size of paged ones. Empty: where it lies.
  std::vector<std::int64_t> key_places = {};
  std::string text;
};

struct Evaluation {
  std::int64_t columns = 0;            // head_dim_v
  std::vector<double> out;             // (rows, columns)
  std::vector<double> lse;             // (rows), natural logarithm; -inf for a row with no visible key
  std::vector<double> noise;           // (rows): sqrt(sum over keys of (weight * largest |v| of the key)^2), to which rounding errors are proportional
  std::vector<std::int64_t> visible;   // (rows): keys whose weights count, see weighs() in score.hpp
  std::vector<double> score_size;      // (rows): the size of the scores that its weights come of, root mean square by noise; empty: what lse and visible tell
  // (rows): sums over keys of (weight * |v|)^2 and of its square; empty without dropout, which moves a row by p / (1 - p) times the first, squared, on average.
  std::vector<double> scatter, scatter_squares;
};

// score = softcap(scale * q.k) - slope * |row + diagonal offset - key| + additive mask; softmax over the visible keys; times v. A row with no visible key
// follows dead_rows (mean: over the valid keys of its sequence, 0 when there are none). A row past lengths_q is 0. Slopes are rounded to float, as the
// backend gets them. Rows past the lengths are never read. Several threads.
// Only a mask's -inf or false hides a key for good. A row whose keys a finite fill hides all is not dead: its scores are the hidden keys' own, all lowered
// alike. Where the sums leave the dtype's range (in fp16: scores below -16 under the fill -65504), a backend that then finds no key at all is wrong.
Evaluation reference(const Reading& reading, const Operands& operands, std::span<const OutputRow> rows);

// The same rows with every step rounded to the case's dtype: q.k (summed in float), scaling, softcap, bias, mask, weights, output (summed in float). In
// 8 bit the scores are kept in bf16 and the weights are rounded before they are divided by their sum, as kernels in 8 bit do.
Evaluation naive(const Reading& reading, const Operands& operands, std::span<const OutputRow> rows);

// Evaluates rows where the operands lie: on the host by the two functions above, on a GPU by kernels.
class Reference {
 public:
  virtual ~Reference() = default;
  virtual Evaluation exact(const Reading& reading, std::span<const OutputRow> rows) const = 0;
  virtual Evaluation naive(const Reading& reading, std::span<const OutputRow> rows) const = 0;
};

class HostReference final : public Reference {
 public:
  explicit HostReference(const Operands& operands) : operands_(operands) {}
  Evaluation exact(const Reading& reading, std::span<const OutputRow> rows) const override { return reference(reading, operands_, rows); }
  Evaluation naive(const Reading& reading, std::span<const OutputRow> rows) const override { return attn::naive(reading, operands_, rows); }

 private:
  Operands operands_;
};

// k and v as the reading takes them: by strides and dtype, and which is which.
struct Keys {
  TensorView k, v;
};
Keys misread_keys(const Reading& reading, const Operands& given);
// The rows of k or v as a reading with key_places finds them: a row table, (batch, seq_kv).
std::vector<std::int64_t> misread_rows(const Reading& reading, const TensorView& keys);

// Host operands as a reading finds them: k and v as misread_keys, or by row tables of its own.
class MisreadOperands {
 public:
  MisreadOperands(const Reading& reading, const Operands& given);
  MisreadOperands(const MisreadOperands&) = delete;
  MisreadOperands& operator=(const MisreadOperands&) = delete;
  const Operands& operator*() const { return operands_; }

 private:
  std::vector<std::int64_t> k_rows_, v_rows_;
  Operands operands_;
};

// True when causality, window, lengths and the mask tensor leave the row no key. Needs no q, k or v.
bool is_dead(const Reading& reading, const TensorView& mask, const OutputRow& row);

// Readings that are likely mistakes for this case: an argument ignored, the other alignment, a window one key off, the mask's sense, the head map, another
// policy of dead rows, starts, strides, a page table or the dtype of k and v ignored, k and v swapped. Some may have the same answer as the right reading.
std::vector<Reading> misreadings(const Case& value);

}  // namespace attn
