#pragma once
// The arithmetic of one score and one weight, for both evaluations of reference.hpp, on a host and in kernels.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/reference.hpp"

namespace attn {

// What a mask tensor says about a key.
struct MaskReader {
  const void* data = nullptr;  // null: no mask
  std::int32_t dtype = ATTN_FP32;
  bool boolean = false, inverted = false;
  float hidden_below = 0;      // an additive value at or below it hides, to a reading that inverts the mask
  std::int64_t step = 0;       // elements from key to key

  ATTN_HOST_DEVICE explicit operator bool() const { return data != nullptr; }
  // What is added to the score of the key at element `at`: -inf hides it.
  ATTN_HOST_DEVICE float bias(std::int64_t at) const {
    constexpr float kHidden = -std::numeric_limits<float>::infinity();
    if (boolean) return (static_cast<const std::uint8_t*>(data)[at] != 0) != inverted ? 0.0f : kHidden;
    const float value = load_element(data, at, dtype);
    if (!inverted) return value;
    return value > hidden_below ? kHidden : 0.0f;
  }
  ATTN_HOST_DEVICE bool hides(std::int64_t at) const { return bias(at) == -std::numeric_limits<float>::infinity(); }
  // Every key of first .. end - 1, for the row whose key 0 is element `at`. No mask hides nothing.
  bool hides_all(std::int64_t at, std::int64_t first, std::int64_t end) const {
    if (data == nullptr) return false;
    for (std::int64_t j = first; j < end; ++j)
      if (!hides(at + j * step)) return false;
    return true;
  }
};

// What is known of a row before its scores.
struct RowPlan {
  std::size_t index = 0;           // among the rows asked for
  std::int64_t batch = 0, head = 0, row = 0, kv_head = 0;
  std::int64_t first = 0, end = 0; // its keys
  std::int64_t own = 0;            // the key on its diagonal
  std::int64_t mask_at = 0;        // element of the mask for key 0
  std::int64_t dead_end = 0;       // its keys are 0 .. dead_end - 1 should the mask hide them all
  float slope = 0;
  bool dead = false;               // no visible key, within its sequence's length

  ATTN_HOST_DEVICE std::int64_t keys() const { return end - first; }
  ATTN_HOST_DEVICE void die() {
    dead = true;
    first = 0;
    end = dead_end;
  }
};

// Rounds to the precision of a dtype but not to its range: a naive score that overflows would excuse every error.
struct ScoreRounding {
  explicit ScoreRounding(DType dtype) : bits(dtype == DType::fp32 ? 0 : dtype == DType::fp16 ? 13 : 16) {}
  ATTN_HOST_DEVICE float operator()(float value) const {
    if (bits == 0 || !std::isfinite(value)) return value;
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t half = (1u << (bits - 1)) - 1u + ((word >> bits) & 1u);
    return std::bit_cast<float>((word + half) & ~((1u << bits) - 1u));
  }
  int bits;
};

ATTN_HOST_DEVICE inline float round_to(std::int32_t dtype, float value) {
  std::uint32_t storage = 0;
  store_element(&storage, 0, dtype, value);
  return load_element(&storage, 0, dtype);
}

// Whether a key counts among a row's, by its weight as a share of the largest. A score some hundred below the largest is as good as -inf: a key that a finite
// fill hides does not count, unless the fill hides them all.
ATTN_HOST_DEVICE inline bool weighs(double share) { return share >= 0x1p-149; }  // the smallest float

// The steps of one evaluation; the double ones round nothing.
struct Exact {
  using Number = double;
  static constexpr bool kInOrder = false;
  explicit Exact(const Case&) {}
  ATTN_HOST_DEVICE double score(double value) const { return value; }
  ATTN_HOST_DEVICE double weight(double value, double) const { return value; }
  ATTN_HOST_DEVICE double divisor(double sum) const { return sum; }
  ATTN_HOST_DEVICE double output(double value) const { return value; }
};
struct Naive {
  using Number = float;
  static constexpr bool kInOrder = true;  // sums run through features and keys one by one: a naive loop errs more than a clever sum, and its error is the budget
  explicit Naive(const Case& c) : dtype(static_cast<std::int32_t>(c.dtype)), scores(c.dtype), divides_first(element_bytes(dtype) > 1) {}
  ATTN_HOST_DEVICE float score(float value) const { return scores(value); }
  ATTN_HOST_DEVICE float weight(float value, float sum) const { return round_to(dtype, divides_first ? value / sum : value); }
  ATTN_HOST_DEVICE float divisor(float sum) const { return divides_first ? 1.0f : sum; }
  ATTN_HOST_DEVICE float output(float value) const { return round_to(dtype, value); }
  std::int32_t dtype;
  ScoreRounding scores;
  bool divides_first;  // the weights by their sum, before they are rounded and meet v
};

// From q . k to what softmax sees.
template <class Steps>
struct Scoring {
  using Number = typename Steps::Number;
  Scoring(const Reading& reading, const MaskReader& mask_reader)
      : steps(reading.value), scale(static_cast<Number>(resolved_scale(reading.value))), softcap(static_cast<Number>(reading.value.softcap)),
        slopes(reading.value.alibi.has_value()), by_key(reading.alibi_by_key), mask(mask_reader) {}
  ATTN_HOST_DEVICE Number operator()(Number dot, const RowPlan& row, std::int64_t key) const {
    Number score = steps.score(steps.score(dot) * scale);
    if (softcap != 0) score = steps.score(softcap * steps.score(std::tanh(steps.score(score / softcap))));
    if (slopes) {
      const auto distance = static_cast<Number>(by_key ? -key : row.own > key ? row.own - key : key - row.own);
      score = steps.score(score - steps.score(static_cast<Number>(row.slope) * distance));
    }
    if (mask) score = steps.score(score + static_cast<Number>(mask.bias(row.mask_at + key * mask.step)));
    return score;
  }
  Steps steps;
  Number scale, softcap;
  bool slopes, by_key;
  MaskReader mask;
};

MaskReader mask_reader(const Reading& reading, const TensorView& mask);

// Plans rows by causality, window and lengths; what the mask tensor hides is left to the evaluator, by mask and die().
class RowPlanner {
 public:
  RowPlanner(const Reading& reading, const TensorView& mask);
  RowPlan operator()(const OutputRow& row, std::size_t index) const;
  std::int64_t kv_head(std::int64_t head) const;

 private:
  const Case& diagonal() const { return reading_.padded_diagonal ? padded_ : reading_.value; }
  const Reading& reading_;
  const TensorView& mask_;
  Case padded_;  // without lengths; only for a reading that takes the diagonal from it
  std::vector<float> slopes_;
};

}  // namespace attn
