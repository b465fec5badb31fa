#include "engine/reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/inputs.hpp"
#include "engine/parallel.hpp"

namespace attn {
namespace {

constexpr std::int64_t kTile = 16;           // keys at a time: 16 accumulators fit the registers
constexpr std::int64_t kRowsAtOnce = 32;     // rows that share one reading of k and v
constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

std::int64_t kv_head_of(const Reading& reading, std::int64_t head) {
  const Case& c = reading.value;
  switch (reading.head_map) {
    case HeadMap::grouped: return head / (c.heads / c.heads_kv);
    case HeadMap::modulo: return head % c.heads_kv;
    default: return head / c.heads_kv;
  }
}

// What the mask tensor says about key j of one row.
class MaskRow {
 public:
  MaskRow(const Reading& reading, const TensorView& mask, const OutputRow& row) : mask_(mask) {
    const MaskTensor& tensor = reading.value.mask_tensor;
    present_ = reading.value.mask == MaskKind::tensor && mask;
    boolean_ = tensor.dtype == MaskDType::boolean;
    inverted_ = reading.mask_inverted;
    if (!present_) return;
    base_ = mask.offset(tensor.full[0] ? row.batch : 0, tensor.full[1] ? row.head : 0, tensor.full[2] ? row.row : 0, 0);
    step_ = tensor.full[3] ? mask.strides[3] : 0;
  }
  bool present() const { return present_; }
  // What is added to the score: -inf hides the key.
  float bias(std::int64_t j) const {
    constexpr float kHidden = -std::numeric_limits<float>::infinity();
    const std::int64_t at = base_ + j * step_;
    if (boolean_) return (static_cast<const std::uint8_t*>(mask_.data)[at] != 0) != inverted_ ? 0.0f : kHidden;
    const float value = load_element(mask_.data, at, mask_.dtype);
    if (!inverted_) return value;
    return value > lowest_finite(mask_.dtype) / 2 ? kHidden : 0.0f;
  }

 private:
  const TensorView& mask_;
  bool present_ = false, boolean_ = false, inverted_ = false;
  std::int64_t base_ = 0, step_ = 0;
};

// Rounds to the precision of a dtype but not to its range: a naive score that overflows would excuse every error.
struct ScoreRounding {
  explicit ScoreRounding(DType dtype) : bits(dtype == DType::fp32 ? 0 : dtype == DType::fp16 ? 13 : 16) {}
  float operator()(float value) const {
    if (bits == 0 || !std::isfinite(value)) return value;
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t half = (1u << (bits - 1)) - 1u + ((word >> bits) & 1u);
    return std::bit_cast<float>((word + half) & ~((1u << bits) - 1u));
  }
  int bits;
};

float round_to(DType dtype, float value) {
  std::uint32_t storage = 0;
  store_element(&storage, 0, static_cast<std::int32_t>(dtype), value);
  return load_element(&storage, 0, static_cast<std::int32_t>(dtype));
}

// The steps of one evaluation; the double ones round nothing.
struct Exact {
  using Number = double;
  explicit Exact(DType) {}
  double score(double value) const { return value; }
  static constexpr bool kRoundsWeights = false;
  double output(double value) const { return value; }
};
struct Naive {
  using Number = float;
  explicit Naive(DType t) : dtype(t), scores(t), divides_first(element_bytes(static_cast<std::int32_t>(t)) > 1) {}
  static constexpr bool kRoundsWeights = true;
  float score(float value) const { return scores(value); }
  float weight(float value) const { return round_to(dtype, value); }
  float output(float value) const { return round_to(dtype, value); }
  DType dtype;
  ScoreRounding scores;
  bool divides_first;  // the weights by their sum, before they are rounded and meet v
};

template <class Steps>
class Evaluator {
  using Number = typename Steps::Number;

 public:
  Evaluator(const Reading& reading, const Operands& operands, std::span<const OutputRow> rows, Evaluation& result)
      : reading_(reading), c_(reading.value), operands_(operands), rows_(rows), result_(result), steps_(c_.dtype),
        scale_(static_cast<Number>(resolved_scale(c_))), softcap_(static_cast<Number>(c_.softcap)) {
    for (const double slope : resolved_slopes(c_)) slopes_.push_back(static_cast<float>(slope));
  }

  // `members`: indices of rows that read the same KV head.
  void evaluate(std::span<const std::size_t> members) {
    plans_.clear();
    std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = 0;
    for (const std::size_t index : members) {
      Plan plan = plan_of(index);
      result_.visible[index] = plan.dead ? 0 : plan.keys.size();
      if (plan.keys.size() > 0) {
        low = std::min(low, plan.keys.first);
        high = std::max(high, plan.keys.end);
        plans_.push_back(plan);
      }
    }
    if (plans_.empty()) return;
    low_ = low;
    width_ = high - low;
    batch_ = rows_[members.front()].batch;
    kv_head_ = kv_head_of(reading_, rows_[members.front()].head);
    make_scores(low, high);
    for (std::size_t i = 0; i < plans_.size(); ++i) finish_scores(i);
    make_outputs(low, high);
  }

 private:
  struct Plan {
    std::size_t index = 0;  // of the row
    std::size_t slot = 0;   // of its scores
    KeyRange keys;
    bool dead = false;
    Number sum = 0, largest = 0;
  };

  Plan plan_of(std::size_t index) {
    const OutputRow& row = rows_[index];
    Plan plan{.index = index, .slot = plans_.size(), .keys = visible_keys(c_, row.batch, row.row)};
    result_.lse[index] = -kInfinity;
    if (row.row >= rows_of(c_, row.batch)) return plan;
    if (plan.keys.size() == 0 || hidden_by_mask(row, plan.keys)) {
      plan.dead = true;
      plan.keys = {};
      if (c_.dead_rows == DeadRows::mean) plan.keys = {0, keys_of(c_, row.batch)};
      if (c_.dead_rows == DeadRows::nan) std::fill_n(out_of(index), result_.columns, kNan);
    }
    return plan;
  }
  bool hidden_by_mask(const OutputRow& row, const KeyRange& keys) const {
    const MaskRow mask(reading_, operands_.mask, row);
    if (!mask.present()) return false;
    for (std::int64_t j = keys.first; j < keys.end; ++j)
      if (!(mask.bias(j) == -std::numeric_limits<float>::infinity())) return false;
    return true;
  }
  double* out_of(std::size_t index) { return result_.out.data() + static_cast<std::int64_t>(index) * result_.columns; }
  Number* scores_of(const Plan& plan) { return scores_.data() + static_cast<std::int64_t>(plan.slot) * width_ - low_; }  // by key

  // scores = q . k, summed in the order of head_dim, before any other step.
  void make_scores(std::int64_t low, std::int64_t high) {
    const std::int64_t d = c_.head_dim;
    scores_.assign(plans_.size() * static_cast<std::size_t>(width_), Number{0});
    q_.resize(plans_.size() * static_cast<std::size_t>(d));
    tile_.assign(static_cast<std::size_t>(kTile * d), Number{0});
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      const OutputRow& row = rows_[plans_[i].index];
      for (std::int64_t x = 0; x < d; ++x) q_[i * static_cast<std::size_t>(d) + static_cast<std::size_t>(x)] = operands_.q.load(row.batch, row.head, row.row, x);
    }
    for (std::int64_t j = low; j < high; j += kTile) {
      const std::int64_t count = std::min(kTile, high - j);
      for (std::int64_t jj = 0; jj < count; ++jj)
        for (std::int64_t x = 0; x < d; ++x) tile_[static_cast<std::size_t>(x * kTile + jj)] = operands_.k.load(batch_, kv_head_, j + jj, x);
      for (std::size_t i = 0; i < plans_.size(); ++i) {
        if (plans_[i].dead || plans_[i].keys.first >= j + count || plans_[i].keys.end <= j) continue;
        Number sums[kTile]{};
        const Number* const q = q_.data() + i * static_cast<std::size_t>(d);
        for (std::int64_t x = 0; x < d; ++x)
          for (std::int64_t jj = 0; jj < kTile; ++jj) sums[jj] += q[x] * tile_[static_cast<std::size_t>(x * kTile + jj)];
        std::copy_n(sums, count, scores_of(plans_[i]) + j);
      }
    }
  }

  // Scores to weights, not yet divided by their sum where the steps divide last.
  void finish_scores(std::size_t i) {
    Plan& plan = plans_[i];
    const OutputRow& row = rows_[plan.index];
    Number* const s = scores_of(plan);
    const auto [first, end] = plan.keys;
    if (!plan.dead) {
      const MaskRow mask(reading_, operands_.mask, row);
      const std::int64_t own = row.row + diagonal_offset(c_, row.batch);
      std::int64_t hidden = 0;
      for (std::int64_t j = first; j < end; ++j) {
        Number score = steps_.score(steps_.score(s[j]) * scale_);
        if (softcap_ != 0) score = steps_.score(softcap_ * steps_.score(std::tanh(steps_.score(score / softcap_))));
        if (!slopes_.empty())
          score = steps_.score(score - steps_.score(slopes_[static_cast<std::size_t>(row.head)] * static_cast<Number>(std::abs(own - j))));
        if (mask.present()) score = steps_.score(score + mask.bias(j));
        hidden += score == -std::numeric_limits<Number>::infinity();
        s[j] = score;
      }
      result_.visible[plan.index] -= hidden;
    }
    plan.largest = *std::max_element(s + first, s + end);
    plan.sum = 0;
    for (std::int64_t j = first; j < end; ++j) plan.sum += s[j] = std::exp(s[j] - plan.largest);
    if (!plan.dead) result_.lse[plan.index] = static_cast<double>(plan.largest + std::log(plan.sum));
    if constexpr (Steps::kRoundsWeights) {
      for (std::int64_t j = first; j < end; ++j) s[j] = steps_.weight(steps_.divides_first ? s[j] / plan.sum : s[j]);
      if (steps_.divides_first) plan.sum = 1;
    }
  }

  // out = weights . v, summed in the order of the keys.
  void make_outputs(std::int64_t low, std::int64_t high) {
    const std::int64_t d = c_.head_dim_v;
    outputs_.assign(plans_.size() * static_cast<std::size_t>(d), Number{0});
    std::vector<double> noise(plans_.size(), 0.0);
    tile_.assign(static_cast<std::size_t>(kTile * d), Number{0});
    for (std::int64_t j = low; j < high; j += kTile) {
      const std::int64_t count = std::min(kTile, high - j);
      double largest[kTile]{};
      for (std::int64_t jj = 0; jj < count; ++jj)
        for (std::int64_t x = 0; x < d; ++x) {
          const float value = operands_.v.load(batch_, kv_head_, j + jj, x);
          tile_[static_cast<std::size_t>(jj * d + x)] = value;
          largest[jj] = std::max(largest[jj], static_cast<double>(std::fabs(value)));
        }
      for (std::size_t i = 0; i < plans_.size(); ++i) {
        const Plan& plan = plans_[i];
        Number* const out = outputs_.data() + i * static_cast<std::size_t>(d);
        const Number* const weights = scores_of(plan);
        for (std::int64_t key = std::max(j, plan.keys.first); key < std::min(j + count, plan.keys.end); ++key) {
          const Number weight = weights[key];
          if (weight == 0) continue;  // a hidden key: v may hold anything
          const Number* const v = tile_.data() + (key - j) * d;
          for (std::int64_t x = 0; x < d; ++x) out[x] += weight * v[x];
          const double part = static_cast<double>(weight) * largest[key - j];
          noise[i] += part * part;
        }
      }
    }
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      const Plan& plan = plans_[i];
      const Number* const out = outputs_.data() + i * static_cast<std::size_t>(d);
      double* const result = out_of(plan.index);
      for (std::int64_t x = 0; x < d; ++x) result[x] = static_cast<double>(steps_.output(out[x] / plan.sum));
      result_.noise[plan.index] = std::sqrt(noise[i]) / static_cast<double>(plan.sum);
    }
  }

  const Reading& reading_;
  const Case& c_;
  const Operands& operands_;
  std::span<const OutputRow> rows_;
  Evaluation& result_;
  Steps steps_;
  Number scale_, softcap_;
  std::vector<Number> slopes_;
  std::vector<Plan> plans_;
  std::vector<Number> scores_, q_, tile_, outputs_;
  std::int64_t low_ = 0, width_ = 0, batch_ = 0, kv_head_ = 0;
};

template <class Steps>
Evaluation evaluate(const Reading& reading, const Operands& operands, std::span<const OutputRow> rows) {
  Evaluation result;
  result.columns = reading.value.head_dim_v;
  result.out.assign(rows.size() * static_cast<std::size_t>(result.columns), 0.0);
  result.lse.assign(rows.size(), -kInfinity);
  result.noise.assign(rows.size(), 0.0);
  result.visible.assign(rows.size(), 0);

  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key_of = [&](std::size_t i) { return std::pair(rows[i].batch, kv_head_of(reading, rows[i].head)); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key_of(a) < key_of(b); });
  std::vector<std::size_t> starts;  // of the pieces, within `order`
  for (std::size_t i = 0; i < order.size(); ++i)
    if (starts.empty() || i - starts.back() == kRowsAtOnce || key_of(order[i]) != key_of(order[i - 1])) starts.push_back(i);
  starts.push_back(order.size());

  const auto pieces = static_cast<std::int64_t>(starts.size()) - 1;
  parallel_for(pieces, std::max<std::int64_t>(1, pieces / 256), [&](std::int64_t first, std::int64_t end) {
    Evaluator<Steps> evaluator(reading, operands, rows, result);
    for (std::int64_t i = first; i < end; ++i) {
      const auto from = starts[static_cast<std::size_t>(i)], to = starts[static_cast<std::size_t>(i) + 1];
      evaluator.evaluate(std::span(order).subspan(from, to - from));
    }
  });
  return result;
}

}  // namespace

Evaluation reference(const Reading& reading, const Operands& operands, std::span<const OutputRow> rows) { return evaluate<Exact>(reading, operands, rows); }
Evaluation naive(const Reading& reading, const Operands& operands, std::span<const OutputRow> rows) { return evaluate<Naive>(reading, operands, rows); }

bool is_dead(const Reading& reading, const TensorView& mask, const OutputRow& row) {
  const KeyRange keys = visible_keys(reading.value, row.batch, row.row);
  const MaskRow mask_row(reading, mask, row);
  if (!mask_row.present()) return keys.size() == 0;
  for (std::int64_t j = keys.first; j < keys.end; ++j)
    if (mask_row.bias(j) != -std::numeric_limits<float>::infinity()) return false;
  return true;
}

}  // namespace attn
