#include "engine/gradient_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/comparison.hpp"
#include "engine/dropout_check.hpp"
#include "engine/finding_text.hpp"
#include "engine/output_scan.hpp"

namespace attn {
namespace {

constexpr double kHostFlops = 1e9;       // the host's threads evaluate gradients, wherever the call ran
constexpr double kDiagnosisShare = 0.5;  // of limits.flops, for each misreading

// One of the three, as found and as it should be.
struct Tensor {
  const char* name;
  const TensorView GradientInput::*found;
  const Evaluation Gradients::*expected;
  const std::vector<OutputRow> Gradients::*rows;
  const std::vector<std::uint8_t> Gradients::*spoilt;
};
const std::array<Tensor, 3> kTensors{Tensor{"dq", &GradientInput::dq, &Gradients::dq, &Gradients::q_rows, &Gradients::q_spoilt},
                                     Tensor{"dk", &GradientInput::dk, &Gradients::dk, &Gradients::kv_rows, &Gradients::kv_spoilt},
                                     Tensor{"dv", &GradientInput::dv, &Gradients::dv, &Gradients::kv_rows, &Gradients::kv_spoilt}};

// The rows of `expected` that were found.
std::vector<double> read(const Tensor& tensor, const GradientInput& input, const Gradients& expected) {
  const TensorView& view = input.*tensor.found;
  std::vector<double> values;
  values.reserve((expected.*tensor.expected).out.size());
  for (const auto& [b, h, s] : expected.*tensor.rows)
    for (std::int64_t x = 0; x < (expected.*tensor.expected).columns; ++x) values.push_back(view.load(b, h, s, x));
  return values;
}

// NaN where it is as good as the value becomes the value.
std::vector<double> excused(const Tensor& tensor, std::vector<double> found, const Gradients& expected) {
  const Evaluation& right = expected.*tensor.expected;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (std::isnan(found[i]) && (expected.*tensor.spoilt)[i / static_cast<std::size_t>(right.columns)]) found[i] = right.out[i];
  return found;
}

// dk or dv as scan_output sees an output: its rows are the keys.
Case as_output(const Case& c, bool of_keys, std::int64_t columns) {
  Case seen = c;
  seen.head_dim_v = columns;
  if (!of_keys) return seen;
  seen.heads = c.heads_kv;
  seen.seq_q = c.seq_kv;
  seen.lengths_q = c.lengths_kv;
  seen.dead_rows = DeadRows::zero;
  return seen;
}

void scan(const Tensor& tensor, const GradientInput& input, std::vector<std::string>& reasons) {
  const Case& c = *input.value;
  const TensorView& view = input.*tensor.found;
  const bool of_keys = tensor.found != &GradientInput::dq;
  const auto poison = input.poisoned ? std::optional(poison_bits(view.dtype)) : std::nullopt;
  const OutputScan found = scan_output(as_output(c, of_keys, view.shape[3]), input.operands.inputs.mask, view, poison);
  if (found.unwritten > 0)
    reasons.push_back(fmt::format("{}: {} never written, first {}", tensor.name, elements(found.unwritten),
                                  place_of(found.first_unwritten->row, found.first_unwritten->column)));
  if (found.not_finite > 0 && !(of_keys && c.dead_rows == DeadRows::nan && may_have_dead_rows(c)))
    reasons.push_back(fmt::format("{}: {} not finite, first {}: {}", tensor.name, elements(found.not_finite),
                                  place_of(found.first_not_finite->row, found.first_not_finite->column), without_nan_sign(found.first_not_finite->value)));
}

// All three tensors of these groups are what the reading gives, and the budget tells that from what is right.
bool is_misread_as(const GradientReading& reading, const GradientInput& input, std::span<const KvHead> groups, const Gradients& right, const Gradients& allowed) {
  const Gradients mistaken = reference_gradients(reading, *input.value, input.operands, groups);
  const Gradients budget = naive_gradients(reading, *input.value, input.operands, groups);
  bool differs = false;
  for (const Tensor& tensor : kTensors) {
    const std::int32_t dtype = (input.*tensor.found).dtype;
    const auto& rows = mistaken.*tensor.rows;
    if (!rows.empty() && !compare(excused(tensor, read(tensor, input, mistaken), mistaken), mistaken.*tensor.expected, budget.*tensor.expected, dtype).right) return false;
    // Under another head map the query heads of a group are others, and cannot be right for it.
    differs = differs || rows != right.*tensor.rows ||
              !compare((mistaken.*tensor.expected).out, right.*tensor.expected, allowed.*tensor.expected, dtype).right;
  }
  return differs;
}

// "softcap ignored", when that reading explains dq, dk and dv alike; else empty.
std::string matching_misreading(const GradientInput& input, const std::set<std::pair<std::int64_t, std::int64_t>>& off) {
  const Case& c = *input.value;
  SampleLimits limits = input.limits;
  limits.flops *= kDiagnosisShare;
  std::vector<KvHead> groups = sample_groups(c, input.seed, limits);
  for (const auto& [batch, head] : off) {  // one that is off must be among them
    const auto same = [&](const KvHead& group) { return group.batch == batch && group.head == head; };
    if (std::any_of(groups.begin(), groups.end(), same)) break;
    if (std::pair(batch, head) == *off.rbegin()) groups.push_back({batch, head});
  }
  const Reading reading{.value = c, .text = {}};
  const Gradients right = reference_gradients({reading}, c, input.operands, groups), allowed = naive_gradients({reading}, c, input.operands, groups);
  for (const GradientReading& mistake : gradient_misreadings(c))
    if ((mistake.slip != GradientSlip::dout_strides || input.operands.dout_as_dense) && is_misread_as(mistake, input, groups, right, allowed)) return mistake.text();
  return "";
}

// What lies at the places that a dense (B, H, Sq, Dv) would have in the memory of `laid`, of which `copy` is a copy. Empty where all lies there, or memory ends before.
HostCopy as_though_dense(const TensorView& laid, const TensorView& copy) {
  const auto [batch, heads, seq, dim] = laid.shape;
  const std::array<std::int64_t, 4> dense{heads * seq * dim, seq * dim, dim, 1};
  const std::int64_t count = batch * heads * seq * dim;
  if (laid.rows || count == 0 || laid.strides == dense || laid.offset(batch - 1, heads - 1, seq - 1, dim - 1) != count - 1) return {};
  HostCopy result;
  const std::size_t size = element_bytes(laid.dtype);
  result.storage.resize(static_cast<std::size_t>(count) * size);
  result.view = copy;
  result.view.strides = dense;
  result.view.data = result.storage.data();
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t s = 0; s < seq; ++s)
        for (std::int64_t x = 0; x < dim; ++x)
          std::memcpy(result.storage.data() + static_cast<std::size_t>(laid.offset(b, h, s, x)) * size,
                      static_cast<const std::byte*>(copy.data) + static_cast<std::size_t>(copy.offset(b, h, s, x)) * size, size);
  return result;
}

// Sums of products over the rows of each group, of what was found and the tensor whose gradient it is or takes; both finite, or there is none.
struct Side {
  const TensorView &found, &with;
  const Evaluation &expected, &naive;
  const std::vector<OutputRow>& rows;
  std::int64_t heads_per_group;
};
struct Product {
  double value = 0, variance = 0;  // by rounding
};
using Products = std::map<std::pair<std::int64_t, std::int64_t>, Product>;

Products products(const Side& side) {
  constexpr double kLeastError = 1.0 / 4096;  // of the noise
  const auto columns = static_cast<std::size_t>(side.expected.columns);
  std::vector<double> sizes;  // |with|^2
  double naive_errors = 0, noises = 0;
  for (std::size_t r = 0; r < side.rows.size(); ++r) {
    const auto [b, h, s] = side.rows[r];
    double size = 0, error = 0;
    for (std::size_t x = 0; x < columns; ++x) {
      const double with = side.with.load(b, h, s, static_cast<std::int64_t>(x)), each = side.naive.out[r * columns + x] - side.expected.out[r * columns + x];
      size += with * with;
      if (std::isfinite(each)) error += with * each;
    }
    sizes.push_back(size);
    naive_errors += error * error;
    noises += size * side.expected.noise[r] * side.expected.noise[r];
  }
  const double per_noise = std::max(kLeastError * kLeastError, noises > 0 ? naive_errors / noises : 0);
  Products result;
  for (std::size_t r = 0; r < side.rows.size(); ++r) {
    const auto [b, h, s] = side.rows[r];
    Product& product = result[{b, h / side.heads_per_group}];
    double largest = 0;
    for (std::int64_t x = 0; x < side.expected.columns; ++x) {
      const double found = side.found.load(b, h, s, x);
      product.value += found * static_cast<double>(side.with.load(b, h, s, x));
      largest = std::max(largest, std::fabs(found));
    }
    const double step = ulp(largest, side.found.dtype) / 4;  // a rounding errs by about 0.29 of them
    product.variance += sizes[r] * (per_noise * side.expected.noise[r] * side.expected.noise[r] + step * step);
  }
  return result;
}

// The first group in which two sums that the same dropped weights make equal are not.
std::string differing_products(const char* names, const Side& left, const Side& right, double p) {
  constexpr double kMostDeviations = 6;
  const Products of_left = products(left);
  Products of_right = products(right);
  for (const auto& [group, a] : of_left) {
    const Product& b = of_right[group];
    const double budget = kMostDeviations / (1 - p) * std::sqrt(a.variance + b.variance);
    if (std::fabs(a.value - b.value) > budget)  // not so where either is NaN
      return fmt::format("{} of (batch {}, KV head {}) are {:.6g} and {:.6g}, equal within {:.2g} if the same weights are dropped", names, group.first, group.second, a.value,
                         b.value, budget);
  }
  return "";
}

// What tells that the passes, or the two halves of the backward pass, drop different weights; else empty.
std::pair<std::string, std::string> differing_masks(const GradientInput& input, const Gradients& right, const Gradients& allowed) {
  const Case& c = *input.value;
  const Operands& inputs = input.operands.inputs;
  const std::int64_t heads = c.heads / c.heads_kv;
  if (input.o) {
    const Reading reading{.value = c, .text = {}};
    const Evaluation o = reference(reading, inputs, right.q_rows), naive_o = naive(reading, inputs, right.q_rows);
    std::string differing = differing_products("sum(dout . o) and sum(dv . v)", {input.o, input.operands.dout, o, naive_o, right.q_rows, heads},
                                               {input.dv, inputs.v, right.dv, allowed.dv, right.kv_rows, 1}, c.dropout);
    if (!differing.empty()) return {"the backward pass drops other weights than the forward pass", std::move(differing)};
  }
  std::string differing = differing_products("sum(dq . q) and sum(dk . k)", {input.dq, inputs.q, right.dq, allowed.dq, right.q_rows, heads},
                                             {input.dk, inputs.k, right.dk, allowed.dk, right.kv_rows, 1}, c.dropout);
  return {differing.empty() ? "" : "dq and dk drop other weights", differing};
}

}  // namespace

NumericsResult check_gradients(const GradientInput& input) {
  const Case& c = *input.value;
  NumericsResult result;
  std::vector<std::string> reasons;
  for (const Tensor& tensor : kTensors) scan(tensor, input, reasons);

  const std::vector<KvHead> groups = sample_groups(c, input.seed, input.limits);
  const Reading reading{.value = c, .text = {}};
  const Gradients right = reference_gradients({reading}, c, input.operands, groups), allowed = naive_gradients({reading}, c, input.operands, groups);
  std::set<std::pair<std::int64_t, std::int64_t>> off;
  bool all_right = true, must_show = false;
  for (const Tensor& tensor : kTensors) {
    const Evaluation& expected = right.*tensor.expected;
    const auto& rows = right.*tensor.rows;
    const TensorView& view = input.*tensor.found;
    if (rows.empty()) continue;
    const std::vector<double> read_values = read(tensor, input, right), found = excused(tensor, read_values, right);
    const Comparison comparison = compare(found, expected, allowed.*tensor.expected, view.dtype);
    if (c.dropout > 0) {
      result.numerics.rows_checked += static_cast<std::int64_t>(rows.size());
      const DropoutFinding finding = check_dropout(read_values, expected, allowed.*tensor.expected, rows, view.dtype, c.dropout);
      const std::string& diagnosis = finding.diagnosis;
      if (result.numerics.diagnosis.empty()) result.numerics.diagnosis = diagnosis;
      if (!finding.reason.empty()) reasons.push_back(fmt::format("{}: {}", tensor.name, finding.reason));
      all_right = all_right && comparison.right;
      must_show = must_show || must_show_dropout(read_values, expected, comparison.budgets, c.dropout);
      continue;
    }
    result.numerics = merged({Status::ok, "", result.numerics}, {Status::ok, "", numbers_of(comparison, rows.size())}).numerics;
    if (comparison.right) continue;
    all_right = false;
    reasons.push_back(fmt::format("{}: {}", tensor.name, worst_of(comparison, rows, found, expected)));
    const std::int64_t group = tensor.found == &GradientInput::dq ? c.heads / c.heads_kv : 1;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (comparison.off[i]) off.insert({rows[i].batch, rows[i].head / group});
  }
  if (c.dropout > 0 && reasons.empty())
    if (auto [diagnosis, text] = differing_masks(input, right, allowed); !text.empty()) {
      result.numerics.diagnosis = std::move(diagnosis);
      reasons.push_back(std::move(text));
    }
  if (all_right && must_show) result.numerics.diagnosis = "the gradients equal the reference with dropout ignored";
  if (c.dropout == 0 && !all_right)
    if (const std::string text = matching_misreading(input, off); !text.empty()) result.numerics.diagnosis = "equals the reference with " + text;
  if (!result.numerics.diagnosis.empty()) reasons.insert(reasons.begin(), result.numerics.diagnosis);
  if (reasons.empty()) return result;
  result.status = Status::wrong;
  result.reason = joined(reasons, "; ");
  return result;
}

NumericsResult check_gradients(Device& device, const Case& value, const Tensors& tensors, std::uint64_t seed) {
  const auto copy = [&](const TensorView& view) { return view ? read_dense(device, view) : HostCopy{}; };
  const HostCopy q = copy(tensors.q()), k = copy(tensors.k()), v = copy(tensors.v()), mask = copy(tensors.mask()), dout = copy(tensors.dout());
  const HostCopy dout_as_dense = as_though_dense(tensors.dout(), dout.view);
  const HostCopy dq = copy(tensors.dq()), dk = copy(tensors.dk()), dv = copy(tensors.dv()), o = copy(value.dropout > 0 ? tensors.o() : TensorView{});
  return check_gradients({.value = &value, .operands = {{q.view, k.view, v.view, mask.view}, dout.view, dout_as_dense.view}, .dq = dq.view, .dk = dk.view, .dv = dv.view, .o = o.view,
                          .poisoned = true, .seed = seed, .limits = {.flops = kHostFlops}});
}

}  // namespace attn
