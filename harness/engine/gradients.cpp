#include "engine/gradients.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/comparison.hpp"
#include "engine/parallel.hpp"
#include "engine/philox.hpp"
#include "engine/score.hpp"

namespace attn {
namespace {

template <class Number>
void add_multiple(Number factor, const Number* from, Number* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}
template <class Number>
double largest(const Number* row, std::int64_t count) {
  Number most = 0;
  for (std::int64_t i = 0; i < count; ++i) most = std::max(most, std::abs(row[i]));
  return static_cast<double>(most);
}
template <class Number>
double squares_of(const std::vector<Number>& row) {
  double sum = 0;
  for (const Number each : row) sum += static_cast<double>(each) * static_cast<double>(each);
  return sum;
}

// In 8 bit the naive evaluation computes in bf16.
Case computed_in(const Case& value) {
  Case c = value;
  if (element_bytes(static_cast<std::int32_t>(c.dtype)) == 1) c.dtype = DType::bf16;
  return c;
}

// Where a group's rows begin among those of all groups.
struct Place {
  KvHead group;
  std::vector<std::int64_t> heads;  // that read it
  std::size_t q_row = 0, kv_row = 0;
};

template <class Steps>
class GroupGradients {
  using Number = typename Steps::Number;
  static constexpr bool kExact = std::is_same_v<Steps, Exact>;

 public:
  // `computed`: the reading with the dtype that the steps round to.
  GroupGradients(const GradientReading& reading, const Reading& computed, const Case& value, const GradientOperands& operands, Gradients& result)
      : slip_(reading.slip), c_(computed.value), value_(value), operands_(operands), result_(result),
        planner_(computed, operands.inputs.mask), scoring_(computed, mask_reader(computed, operands.inputs.mask)) {}

  void evaluate(const Place& place) {
    const std::int64_t b = place.group.batch, d = c_.head_dim, dv = c_.head_dim_v;
    keys_ = keys_of(c_, b);
    load_keys(place.group);
    dk_.assign(size(keys_ * d), Number{0});
    dv_.assign(size(keys_ * dv), Number{0});
    for (std::vector<double>* sum : {&noise_k_, &noise_v_, &sizes_k_, &sizes_v_}) sum->assign(size(keys_), 0.0);
    scatter_.assign(size(keys_), {});
    visible_.assign(size(keys_), 0);
    spoilt_ = false;
    std::size_t q_row = place.q_row;
    for (const std::int64_t h : place.heads) {
      head_dk_.assign(dk_.size(), Number{0});
      head_dv_.assign(dv_.size(), Number{0});
      for (std::int64_t row = 0; row < rows_of(value_, b); ++row) add_row({b, h, row}, q_row++);
      if (slip_ == GradientSlip::one_head && h != place.heads.back()) continue;
      for (std::size_t i = 0; i < dk_.size(); ++i) dk_[i] += head_dk_[i];
      for (std::size_t i = 0; i < dv_.size(); ++i) dv_[i] += head_dv_[i];
    }
    const auto dtype = static_cast<std::int32_t>(value_.dtype_kv);
    for (std::int64_t j = 0; j < keys_of(value_, b); ++j) {
      const std::size_t at = place.kv_row + size(j);
      result_.kv_spoilt[at] = spoilt_;
      if (j >= keys_) continue;
      write(dk_.data() + j * d, result_.dk, at, dtype);
      write(dv_.data() + j * dv, result_.dv, at, dtype);
      const auto set_noise = [&](Evaluation& of, double noise, double sizes) {
        of.noise[at] = std::sqrt(noise);
        if (noise > 0) of.score_size[at] = std::sqrt(sizes / noise);
      };
      set_noise(result_.dk, noise_k_[size(j)], sizes_k_[size(j)]);
      set_noise(result_.dv, noise_v_[size(j)], sizes_v_[size(j)]);
      result_.dk.visible[at] = result_.dv.visible[at] = visible_[size(j)];
      if (value_.dropout > 0) std::tie(result_.dv.scatter[at], result_.dv.scatter_squares[at]) = scatter_[size(j)];
    }
  }

 private:
  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

  // k and v as they lie and transposed, so that every sum below runs over neighbours; padding may hold anything and is not read.
  void load_keys(const KvHead& group) {
    const auto load = [&](const TensorView& from, std::int64_t columns, std::vector<Number>& rows, std::vector<Number>& transposed, std::vector<double>& most) {
      rows.assign(size(keys_ * columns), Number{0});
      transposed.assign(rows.size(), Number{0});
      most.assign(size(keys_), 0.0);
      for (std::int64_t j = 0; j < keys_; ++j) {
        if (!from.has_row(group.batch, j)) continue;  // a reading without lengths asks for keys that lie nowhere
        for (std::int64_t x = 0; x < columns; ++x)
          transposed[size(x * keys_ + j)] = rows[size(j * columns + x)] = from.load(group.batch, group.head, j, x);
        most[size(j)] = largest(rows.data() + j * columns, columns);
      }
    };
    load(operands_.inputs.k, c_.head_dim, k_, k_transposed_, largest_k_);
    load(operands_.inputs.v, c_.head_dim_v, v_, v_transposed_, largest_v_);
  }

  void load_row(const TensorView& from, const OutputRow& row, std::int64_t columns, std::vector<Number>& to) {
    to.resize(size(columns));
    for (std::int64_t x = 0; x < columns; ++x) to[size(x)] = from.load(row.batch, row.head, row.row, x);
  }

  void add_row(const OutputRow& row, std::size_t at) {
    RowPlan plan = planner_(row, at);
    if (!plan.dead && scoring_.mask.hides_all(plan.mask_at, plan.first, plan.end)) plan.die();
    if (plan.dead && c_.dead_rows == DeadRows::nan) {
      spoilt_ = true;
      result_.q_spoilt[at] = 1;
    }
    if (plan.keys() <= 0) return;
    load_row(operands_.dout, row, c_.head_dim_v, dout_);
    weights_.assign(size(keys_), Number{0});
    score_squares_.assign(size(keys_), 0.0);
    if (plan.dead) {
      std::fill_n(weights_.begin(), plan.end, scoring_.steps.score(Number{1} / static_cast<Number>(plan.end)));
      return add_to_v(plan);
    }
    load_row(operands_.inputs.q, row, c_.head_dim, q_);
    make_weights(plan, at);
    add_to_v(plan);
    make_dscores(plan, at);
  }

  void make_weights(const RowPlan& plan, std::size_t at) {
    const Number scale = scoring_.scale, softcap = scoring_.softcap;
    const auto& steps = scoring_.steps;
    const std::int64_t first = plan.first, end = plan.end;
    Number* const s = weights_.data();
    for (std::int64_t x = 0; x < c_.head_dim; ++x) add_multiple(q_[size(x)], k_transposed_.data() + x * keys_ + first, s + first, end - first);
    if (softcap != 0) {
      bend_.resize(size(keys_));
      for (std::int64_t j = first; j < end; ++j) {
        const Number t = steps.score(std::tanh(steps.score(steps.score(steps.score(s[j]) * scale) / softcap)));
        bend_[size(j)] = steps.score(Number{1} - steps.score(t * t));
      }
    }
    for (std::int64_t j = first; j < end; ++j) s[j] = scoring_(s[j], plan, j);
    const Number most = *std::max_element(s + first, s + end);
    for (std::int64_t j = first; j < end; ++j) score_squares_[size(j)] = static_cast<double>(s[j]) * static_cast<double>(s[j]);
    Number sum = 0;
    std::int64_t visible = 0;
    for (std::int64_t j = first; j < end; ++j) {
      sum += s[j] = std::exp(s[j] - most);
      visible += weighs(static_cast<double>(s[j]));
    }
    const double lse = result_.dq.lse[at] = static_cast<double>(most + std::log(sum)), mean_score = lse - std::log(static_cast<double>(visible));
    // A weight errs by what rounding did to its own score and to those that it was divided by. Buried rows have lost theirs.
    for (double& square : score_squares_) square = is_buried(lse, static_cast<std::int32_t>(c_.dtype)) ? 0 : std::max(square, mean_score * mean_score);
    for (std::int64_t j = first; j < end; ++j) s[j] = steps.weight(s[j], sum) / steps.divisor(sum);
  }

  void add_to_v(const RowPlan& plan) {
    const double most = largest(dout_.data(), c_.head_dim_v), squares = squares_of(dout_);
    for (std::int64_t j = plan.first; j < plan.end; ++j) {
      const Number weight = weights_[size(j)];
      if (weight == 0) continue;
      add_multiple(weight, dout_.data(), head_dv_.data() + j * c_.head_dim_v, c_.head_dim_v);
      const double part = static_cast<double>(weight) * most;
      noise_v_[size(j)] += part * part;
      sizes_v_[size(j)] += part * part * score_squares_[size(j)];
      const double moved = static_cast<double>(weight) * static_cast<double>(weight) * squares;
      scatter_[size(j)].first += moved;
      scatter_[size(j)].second += moved * moved;
      ++visible_[size(j)];
    }
  }

  // dS of one row, and what it adds to dq and dk.
  void make_dscores(const RowPlan& plan, std::size_t at) {
    const auto& steps = scoring_.steps;
    const std::int64_t first = plan.first, end = plan.end, d = c_.head_dim, dv = c_.head_dim_v;
    dp_.assign(size(keys_), Number{0});
    for (std::int64_t x = 0; x < dv; ++x) add_multiple(dout_[size(x)], v_transposed_.data() + x * keys_ + first, dp_.data() + first, end - first);
    out_.assign(size(dv), Number{0});
    double out_squares = 0;
    for (std::int64_t j = first; j < end; ++j) {
      if (weights_[size(j)] == 0) continue;
      add_multiple(weights_[size(j)], v_.data() + j * dv, out_.data(), dv);
      const double part = static_cast<double>(weights_[size(j)]) * largest_v_[size(j)];
      out_squares += part * part;
    }
    Number delta = 0;
    for (std::size_t x = 0; x < size(dv); ++x) delta += dout_[x] * steps.output(out_[x]);
    delta = slip_ == GradientSlip::delta ? Number{0} : steps.score(delta);
    const double dout_norm = std::sqrt(squares_of(dout_)), out_noise = std::max(largest(out_.data(), dv), std::sqrt(out_squares)), largest_q = largest(q_.data(), d);
    const bool bent = scoring_.softcap != 0 && slip_ != GradientSlip::softcap_derivative;
    const Number scale = slip_ == GradientSlip::scale ? Number{1} : scoring_.scale;
    dq_.assign(size(d), Number{0});
    double noise = 0;
    std::int64_t visible = 0;
    for (std::int64_t j = first; j < end; ++j) {
      const Number weight = weights_[size(j)];
      if (weight == 0) continue;
      Number ds = steps.score(weight * steps.score(steps.score(dp_[size(j)]) - delta));
      if (bent) ds = steps.score(ds * bend_[size(j)]);
      ds = steps.score(ds * scale);
      add_multiple(ds, k_.data() + j * d, dq_.data(), d);
      add_multiple(ds, q_.data(), head_dk_.data() + j * d, d);
      // What dS errs by: dP, D and the output in it are sums of products, and each may cancel. The softcap's derivative errs by about one rounding of 1, however small it is.
      const double part = static_cast<double>(weight) * dout_norm * (largest_v_[size(j)] + out_noise) * std::abs(static_cast<double>(scale));
      noise += part * part * largest_k_[size(j)] * largest_k_[size(j)];
      const double part_of_k = part * part * largest_q * largest_q;
      noise_k_[size(j)] += part_of_k;
      sizes_k_[size(j)] += part_of_k * score_squares_[size(j)];
      ++visible;
    }
    write(dq_.data(), result_.dq, at, static_cast<std::int32_t>(value_.dtype));
    result_.dq.noise[at] = std::sqrt(noise);
    result_.dq.visible[at] = visible;
  }

  void write(const Number* from, Evaluation& to, std::size_t at, std::int32_t dtype) const {
    double* const out = to.out.data() + at * size(to.columns);
    for (std::int64_t x = 0; x < to.columns; ++x) out[x] = kExact ? static_cast<double>(from[x]) : round_to(dtype, static_cast<float>(from[x]));
  }

  GradientSlip slip_;
  const Case& c_;
  const Case& value_;
  const GradientOperands& operands_;
  Gradients& result_;
  RowPlanner planner_;
  Scoring<Steps> scoring_;
  std::int64_t keys_ = 0;
  bool spoilt_ = false;
  std::vector<Number> k_, k_transposed_, v_, v_transposed_, q_, dout_, weights_, bend_, dp_, out_, dq_, dk_, dv_, head_dk_, head_dv_;
  std::vector<double> largest_k_, largest_v_, noise_k_, noise_v_;
  std::vector<double> score_squares_;       // of one row, by key
  std::vector<double> sizes_k_, sizes_v_;   // sums of the score squares, by noise
  std::vector<std::pair<double, double>> scatter_;  // and its square's sum
  std::vector<std::int64_t> visible_;
};

void make_room(Evaluation& evaluation, std::int64_t columns, std::size_t rows) {
  evaluation.columns = columns;
  evaluation.out.assign(rows * static_cast<std::size_t>(columns), 0.0);
  evaluation.lse.assign(rows, -std::numeric_limits<double>::infinity());
  evaluation.noise.assign(rows, 0.0);
  evaluation.visible.assign(rows, 0);
}

template <class Steps>
Gradients evaluate(const GradientReading& reading, const Reading& computed, const Case& value, const GradientOperands& given,
                   std::span<const KvHead> groups) {
  const MisreadOperands misread(reading.forward, given.inputs);
  const GradientOperands operands{*misread, reading.slip == GradientSlip::dout_strides ? given.dout_as_dense : given.dout};
  Gradients result;
  const RowPlanner planner(computed, operands.inputs.mask);
  std::vector<Place> places;
  for (const KvHead& group : groups) {
    Place place{group, {}, result.q_rows.size(), result.kv_rows.size()};
    for (std::int64_t h = 0; h < value.heads; ++h) {
      if (planner.kv_head(h) != group.head) continue;
      place.heads.push_back(h);
      for (std::int64_t row = 0; row < rows_of(value, group.batch); ++row) result.q_rows.push_back({group.batch, h, row});
    }
    for (std::int64_t key = 0; key < keys_of(value, group.batch); ++key) result.kv_rows.push_back({group.batch, group.head, key});
    places.push_back(std::move(place));
  }
  make_room(result.dq, value.head_dim, result.q_rows.size());
  make_room(result.dk, value.head_dim, result.kv_rows.size());
  make_room(result.dv, value.head_dim_v, result.kv_rows.size());
  for (Evaluation* each : {&result.dk, &result.dv}) each->score_size.assign(result.kv_rows.size(), 0.0);
  if (value.dropout > 0)
    for (std::vector<double>* scatter : {&result.dv.scatter, &result.dv.scatter_squares}) scatter->assign(result.kv_rows.size(), 0.0);
  result.q_spoilt.assign(result.q_rows.size(), 0);
  result.kv_spoilt.assign(result.kv_rows.size(), 0);
  parallel_for(static_cast<std::int64_t>(places.size()), 1, [&](std::int64_t first, std::int64_t end) {
    GroupGradients<Steps> gradients(reading, computed, value, operands, result);
    for (std::int64_t i = first; i < end; ++i) gradients.evaluate(places[static_cast<std::size_t>(i)]);
  });
  return result;
}

}  // namespace

Gradients reference_gradients(const GradientReading& reading, const Case& value, const GradientOperands& operands, std::span<const KvHead> groups) {
  return evaluate<Exact>(reading, reading.forward, value, operands, groups);
}

Gradients naive_gradients(const GradientReading& reading, const Case& value, const GradientOperands& operands, std::span<const KvHead> groups) {
  Reading computed = reading.forward;
  computed.value = computed_in(computed.value);
  return evaluate<Naive>(reading, computed, value, operands, groups);
}

std::vector<KvHead> sample_groups(const Case& c, std::uint64_t seed, const SampleLimits& limits) {
  Case whole = c;
  whole.pass = Pass::forward_backward;
  const std::int64_t all = c.batch * c.heads_kv;
  const double of_one = std::max(flops(whole) / static_cast<double>(all), 1.0);
  const double elements = static_cast<double>(c.heads / c.heads_kv * c.seq_q + 2 * c.seq_kv) * static_cast<double>(std::max(c.head_dim, c.head_dim_v));
  const double affordable = std::min(limits.flops / of_one, limits.elements / elements);
  std::set<std::int64_t> numbers{0, all - 1};
  if (affordable >= static_cast<double>(all)) {
    for (std::int64_t i = 0; i < all; ++i) numbers.insert(i);
  } else {
    const auto wanted = std::max<std::size_t>(2, static_cast<std::size_t>(affordable));
    // Drawing with repetition loses some; a bound on the draws keeps it simple.
    for (std::uint64_t draw = 0; draw < 2 * wanted && numbers.size() < wanted; ++draw)
      numbers.insert(static_cast<std::int64_t>(random_bits(seed, RandomStream::row_sample, draw) % static_cast<std::uint64_t>(all)));
  }
  std::vector<KvHead> groups;
  for (const std::int64_t number : numbers) groups.push_back({number / c.heads_kv, number % c.heads_kv});
  return groups;
}

std::vector<GradientReading> gradient_misreadings(const Case& c) {
  std::vector<GradientReading> readings;
  for (Reading& reading : misreadings(c))
    if (!reading.kv_strides_ignored) readings.push_back({std::move(reading), GradientSlip::none});
  const auto add = [&](bool shows, const char* text, GradientSlip slip) {
    if (shows) readings.push_back({{.value = c, .text = text}, slip});
  };
  add(c.softcap != 0, "the softcap's derivative ignored", GradientSlip::softcap_derivative);
  add(true, "rowsum(dO * O) ignored", GradientSlip::delta);
  add(resolved_scale(c) != 1, "the scale ignored in dq and dk", GradientSlip::scale);
  add(true, "the strides of dout ignored", GradientSlip::dout_strides);
  add(c.heads != c.heads_kv, "dk and dv of one query head of each group", GradientSlip::one_head);
  return readings;
}

}  // namespace attn
