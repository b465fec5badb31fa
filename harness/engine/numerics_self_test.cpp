#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

#include "engine/inputs.hpp"
#include "engine/numerics.hpp"

namespace attn {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A dense case with its own memory.
class Problem {
 public:
  explicit Problem(const Case& value) : value_(value), output_(view(value.heads, value.seq_q, value.head_dim_v)) {
    operands_.q = view(value.heads, value.seq_q, value.head_dim);
    operands_.k = view(value.heads_kv, value.seq_kv, value.head_dim);
    operands_.v = view(value.heads_kv, value.seq_kv, value.head_dim_v);
    fill_inputs(value, 1, operands_.q, operands_.k, operands_.v);
    if (value.mask != MaskKind::tensor) return;
    operands_.mask = view(1, value.seq_q, value.seq_kv);
    operands_.mask.dtype = kBoolByte;
    fill_mask(value, 1, operands_.mask);
  }
  std::vector<OutputRow> rows() const { return sample_rows(value_, operands_.mask, 0); }
  Evaluation reference_of(const Reading& reading) const { return reference(reading, operands_, rows()); }
  Evaluation naive_of(const Reading& reading) const { return naive(reading, operands_, rows()); }
  NumericsResult check(const std::vector<double>& output) {
    for (std::size_t i = 0; i < output.size(); ++i) static_cast<float*>(output_.data)[i] = static_cast<float>(output[i]);
    const HostReference right(operands_);
    return check_output({.value = &value_, .reference = &right, .mask = operands_.mask, .output = output_, .lse = {}, .previous = {}, .poison = {}, .limits = {}});
  }

 private:
  TensorView view(std::int64_t heads, std::int64_t rows, std::int64_t columns) {
    storage_.emplace_back(static_cast<std::size_t>(value_.batch * heads * rows * columns));
    return {storage_.back().data(), ATTN_FP32, {value_.batch, heads, rows, columns}, {heads * rows * columns, rows * columns, columns, 1}};
  }

  Case value_;
  std::vector<std::vector<float>> storage_;
  Operands operands_;
  TensorView output_;
};

struct Probe {
  const char* name;
  Case value;
  std::vector<double> expected;  // column 0 of every row
};

Case small(std::int64_t seq_q, std::int64_t seq_kv, Inputs inputs) {
  Case c;
  c.seq_q = seq_q;
  c.seq_kv = seq_kv;
  c.head_dim = c.head_dim_v = 4;
  c.inputs = inputs;
  return c;
}

Case causal(std::int64_t seq_q, std::int64_t seq_kv, Alignment alignment) {
  Case c = small(seq_q, seq_kv, Inputs::visibility);
  c.mask = MaskKind::causal;
  c.alignment = alignment;
  return c;
}

Case with(Case c, auto&& change) {
  change(c);
  return c;
}

std::vector<Probe> probes() {
  constexpr auto top = Alignment::top_left, bottom = Alignment::bottom_right;
  const auto dead = [](DeadRows policy) {
    return with(causal(3, 2, bottom), [&](Case& c) {
      c.mask = MaskKind::tensor;
      c.mask_tensor.pattern = MaskPattern::causal;
      c.dead_rows = policy;
    });
  };
  const auto alibi = [](double slope) { return with(causal(1, 4, bottom), [&](Case& c) { c.alibi = std::vector{slope}; }); };
  const auto scaled = [](std::optional<double> scale) { return with(small(1, 2, Inputs::scale_probe), [&](Case& c) { c.scale = scale; }); };
  const auto capped = [](double cap) { return with(small(1, 2, Inputs::softcap_probe), [&](Case& c) { c.softcap = cap; }); };
  const double root = std::sqrt(2.0);
  return {
      {"P1 causal 2x4 top_left", causal(2, 4, top), {0, 0.5}},
      {"P1 causal 2x4 bottom_right", causal(2, 4, bottom), {1, 1.5}},
      {"P1 causal 4x2 top_left", causal(4, 2, top), {0, 0.5, 0.5, 0.5}},
      {"P1 causal 4x2 bottom_right", causal(4, 2, bottom), {0, 0, 0, 0.5}},
      {"P1 causal 1x4 top_left", causal(1, 4, top), {0}},
      {"P1 causal 1x4 bottom_right", causal(1, 4, bottom), {1.5}},
      {"P2 window of 3 tokens", with(causal(6, 6, top), [](Case& c) { c.window_left = 2; }), {0, 0.5, 1, 2, 3, 4}},
      {"P3 scale 1", scaled(1), {2}},
      {"P3 scale 2", scaled(2), {2.4}},
      {"P3 scale 0", scaled(0), {1.5}},
      {"P3 default scale", scaled({}), {3 * root / (1 + root)}},
      {"P4 softcap 2", capped(2), {1 / (1 + std::exp(-2 * std::tanh(5.0)))}},
      {"P4 no softcap", capped(0), {1 / (1 + std::exp(-10.0))}},
      {"P5 heads 6:2", with(small(1, 3, Inputs::kv_head), [](Case& c) { c.heads = 6, c.heads_kv = 2; }), {0, 0, 0, 1, 1, 1}},
      {"P6 ALiBi slope 1/2", alibi(0.5), {2.08458}},
      {"P6 ALiBi slope 1/4", alibi(0.25), {1.80710}},
      {"P7 dead row zero", dead(DeadRows::zero), {0, 0, 0.5}},
      {"P7 dead row nan", dead(DeadRows::nan), {kNan, 0, 0.5}},
      {"P7 dead row mean", dead(DeadRows::mean), {0.5, 0, 0.5}},
  };
}

}  // namespace

std::optional<std::string> reference_self_test() {
  for (const Probe& probe : probes()) {
    const Evaluation found = Problem(probe.value).reference_of({.value = probe.value, .text = {}});
    for (std::size_t row = 0; row < probe.expected.size(); ++row)
      for (std::int64_t x = 0; x < found.columns; ++x) {
        const double have = found.out[row * static_cast<std::size_t>(found.columns) + static_cast<std::size_t>(x)], want = probe.expected[row];
        // ln 2 is rounded to float in k, and P6 is known to six digits.
        if (std::isnan(want) ? !std::isnan(have) : !(std::fabs(have - want) <= 5e-6))
          return fmt::format("{}: the reference gives {} in row {}, column {}; right is {}", probe.name, have, row, x, want);
      }
  }
  Case random = with(small(48, 48, Inputs::normal), [](Case& c) { c.heads = 2, c.heads_kv = 2, c.head_dim = c.head_dim_v = 64; });
  Problem problem(random);
  const Evaluation right = problem.reference_of({.value = random, .text = {}});
  if (const NumericsResult result = problem.check(right.out); result.status != Status::ok)
    return fmt::format("the right answer is judged wrong: {}", result.reason);
  Case coarse = random;
  coarse.dtype = DType::bf16;
  if (problem.check(problem.naive_of({.value = coarse, .text = {}}).out).status != Status::wrong)
    return "an answer computed in bf16 passes for one in fp32";
  return std::nullopt;
}

}  // namespace attn
