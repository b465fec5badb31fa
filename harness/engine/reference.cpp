#include "engine/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/parallel.hpp"
#include "engine/score.hpp"

namespace attn {
namespace {

constexpr std::int64_t kTile = 16;           // keys at a time: 16 accumulators fit the registers
constexpr std::int64_t kRowsAtOnce = 32;     // rows that share one reading of k and v
constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

template <class Steps>
class Evaluator {
  using Number = typename Steps::Number;

 public:
  // `operands`: with the keys where the reading finds them.
  Evaluator(const Reading& reading, const Operands& operands, std::span<const OutputRow> rows, Evaluation& result)
      : c_(reading.value), operands_(operands), rows_(rows), result_(result), planner_(reading, operands.mask),
        scoring_(reading, mask_reader(reading, operands.mask)) {}

  // `members`: indices of rows that read the same KV head.
  void evaluate(std::span<const std::size_t> members) {
    plans_.clear();
    std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = 0;
    for (const std::size_t index : members) {
      Plan plan = plan_of(index);
      if (plan.keys() > 0) {
        low = std::min(low, plan.first);
        high = std::max(high, plan.end);
        plans_.push_back(plan);
      }
    }
    if (plans_.empty()) return;
    low_ = low;
    width_ = high - low;
    batch_ = plans_.front().batch;
    kv_head_ = plans_.front().kv_head;
    make_scores(low, high);
    for (std::size_t i = 0; i < plans_.size(); ++i) finish_scores(i);
    make_outputs(low, high);
  }

 private:
  struct Plan : RowPlan {
    std::size_t slot = 0;  // of its scores
    Number sum = 0;
  };

  Plan plan_of(std::size_t index) {
    Plan plan{planner_(rows_[index], index), plans_.size(), 0};
    result_.lse[index] = -kInfinity;
    if (!plan.dead && plan.keys() > 0 && scoring_.mask.hides_all(plan.mask_at, plan.first, plan.end)) plan.die();
    if (plan.dead && c_.dead_rows == DeadRows::nan) std::fill_n(out_of(index), result_.columns, kNan);
    return plan;
  }
  double* out_of(std::size_t index) { return result_.out.data() + static_cast<std::int64_t>(index) * result_.columns; }
  Number* scores_of(const Plan& plan) { return scores_.data() + static_cast<std::int64_t>(plan.slot) * width_ - low_; }  // by key

  // Row (b, h, s) of `from`, element x to to[x * step].
  static void load_row(const TensorView& from, std::int64_t b, std::int64_t h, std::int64_t s, Number* to, std::int64_t step) {
    switch (from.dtype) {  // a loop for each dtype, so that none asks for it element by element
      case ATTN_FP32: return load_row_of<ATTN_FP32>(from, b, h, s, to, step);
      case ATTN_FP16: return load_row_of<ATTN_FP16>(from, b, h, s, to, step);
      case ATTN_BF16: return load_row_of<ATTN_BF16>(from, b, h, s, to, step);
      case ATTN_FP8_E4M3: return load_row_of<ATTN_FP8_E4M3>(from, b, h, s, to, step);
      default: return load_row_of<ATTN_FP8_E5M2>(from, b, h, s, to, step);
    }
  }
  template <std::int32_t dtype>
  static void load_row_of(const TensorView& from, std::int64_t b, std::int64_t h, std::int64_t s, Number* to, std::int64_t step) {
    const void* const data = from.data;
    const std::int64_t at = from.offset(b, h, s, 0), dim = from.shape[3], apart = from.strides[3];
    for (std::int64_t x = 0; x < dim; ++x) to[x * step] = load_element(data, at + x * apart, dtype);
  }

  // scores = q . k, summed in the order of head_dim, before any other step.
  void make_scores(std::int64_t low, std::int64_t high) {
    const std::int64_t d = c_.head_dim;
    scores_.assign(plans_.size() * static_cast<std::size_t>(width_), Number{0});
    q_.resize(plans_.size() * static_cast<std::size_t>(d));
    tile_.assign(static_cast<std::size_t>(kTile * d), Number{0});
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      const RowPlan& row = plans_[i];
      load_row(operands_.q, row.batch, row.head, row.row, q_.data() + i * static_cast<std::size_t>(d), 1);
    }
    for (std::int64_t j = low; j < high; j += kTile) {
      const std::int64_t count = std::min(kTile, high - j);
      for (std::int64_t jj = 0; jj < count; ++jj) load_row(operands_.k, batch_, kv_head_, j + jj, tile_.data() + jj, kTile);
      for (std::size_t i = 0; i < plans_.size(); ++i) {
        if (plans_[i].dead || plans_[i].first >= j + count || plans_[i].end <= j) continue;
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
    Number* const s = scores_of(plan);
    const std::int64_t first = plan.first, end = plan.end;
    if (!plan.dead)
      for (std::int64_t j = first; j < end; ++j) s[j] = scoring_(s[j], plan, j);
    const Number largest = *std::max_element(s + first, s + end);
    Number sum = 0;
    std::int64_t visible = 0;
    for (std::int64_t j = first; j < end; ++j) {
      sum += s[j] = std::exp(s[j] - largest);
      visible += weighs(s[j]);
    }
    if (!plan.dead) {
      result_.lse[plan.index] = static_cast<double>(largest + std::log(sum));
      result_.visible[plan.index] = visible;
    }
    for (std::int64_t j = first; j < end; ++j) s[j] = scoring_.steps.weight(s[j], sum);
    plan.sum = scoring_.steps.divisor(sum);
  }

  // out = weights . v, summed in the order of the keys.
  void make_outputs(std::int64_t low, std::int64_t high) {
    const std::int64_t d = c_.head_dim_v;
    outputs_.assign(plans_.size() * static_cast<std::size_t>(d), Number{0});
    std::vector<double> noise(plans_.size(), 0.0), scatter(noise), scatter_squares(noise);
    tile_.assign(static_cast<std::size_t>(kTile * d), Number{0});
    for (std::int64_t j = low; j < high; j += kTile) {
      const std::int64_t count = std::min(kTile, high - j);
      double largest[kTile]{}, squares[kTile]{};
      for (std::int64_t jj = 0; jj < count; ++jj) {
        Number* const line = tile_.data() + jj * d;
        load_row(operands_.v, batch_, kv_head_, j + jj, line, 1);
        for (std::int64_t x = 0; x < d; ++x) {
          largest[jj] = std::max(largest[jj], static_cast<double>(std::fabs(line[x])));
          squares[jj] += static_cast<double>(line[x]) * static_cast<double>(line[x]);
        }
      }
      for (std::size_t i = 0; i < plans_.size(); ++i) {
        const Plan& plan = plans_[i];
        Number* const out = outputs_.data() + i * static_cast<std::size_t>(d);
        const Number* const weights = scores_of(plan);
        for (std::int64_t key = std::max(j, plan.first); key < std::min(j + count, plan.end); ++key) {
          const Number weight = weights[key];
          if (weight == 0) continue;  // a hidden key: v may hold anything
          const Number* const v = tile_.data() + (key - j) * d;
          for (std::int64_t x = 0; x < d; ++x) out[x] += weight * v[x];
          const double part = static_cast<double>(weight) * largest[key - j];
          noise[i] += part * part;
          const double moved = static_cast<double>(weight) * static_cast<double>(weight) * squares[key - j];
          scatter[i] += moved;
          scatter_squares[i] += moved * moved;
        }
      }
    }
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      const Plan& plan = plans_[i];
      const Number* const out = outputs_.data() + i * static_cast<std::size_t>(d);
      double* const result = out_of(plan.index);
      for (std::int64_t x = 0; x < d; ++x) result[x] = static_cast<double>(scoring_.steps.output(out[x] / plan.sum));
      const auto sum = static_cast<double>(plan.sum);
      result_.noise[plan.index] = std::sqrt(noise[i]) / sum;
      if (c_.dropout == 0) continue;
      result_.scatter[plan.index] = scatter[i] / (sum * sum);
      result_.scatter_squares[plan.index] = scatter_squares[i] / (sum * sum * sum * sum);
    }
  }

  const Case& c_;
  const Operands& operands_;
  std::span<const OutputRow> rows_;
  Evaluation& result_;
  RowPlanner planner_;
  Scoring<Steps> scoring_;
  std::vector<Plan> plans_;
  std::vector<Number> scores_, q_, tile_, outputs_;
  std::int64_t low_ = 0, width_ = 0, batch_ = 0, kv_head_ = 0;
};

template <class Steps>
Evaluation evaluate(const Reading& reading, const Operands& given, std::span<const OutputRow> rows) {
  const MisreadOperands misread(reading, given);
  const Operands& operands = *misread;
  Evaluation result;
  result.columns = reading.value.head_dim_v;
  result.out.assign(rows.size() * static_cast<std::size_t>(result.columns), 0.0);
  result.lse.assign(rows.size(), -kInfinity);
  result.noise.assign(rows.size(), 0.0);
  result.visible.assign(rows.size(), 0);
  if (reading.value.dropout > 0)
    for (std::vector<double>* scatter : {&result.scatter, &result.scatter_squares}) scatter->assign(rows.size(), 0.0);

  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const RowPlanner planner(reading, operands.mask);
  const auto key_of = [&](std::size_t i) { return std::pair(rows[i].batch, planner.kv_head(rows[i].head)); };
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

}  // namespace attn
