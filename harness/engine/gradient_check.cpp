#include "engine/gradient_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "engine/comparison.hpp"
#include "engine/dropout_check.hpp"
#include "engine/finding_text.hpp"
#include "engine/output_scan.hpp"

namespace attn {
namespace {

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

// The rows that were found; NaN where it is as good as the value becomes the value.
std::vector<double> read(const Tensor& tensor, const GradientInput& input, const Gradients& expected) {
  const TensorView& view = input.*tensor.found;
  const Evaluation& right = expected.*tensor.expected;
  const auto& rows = expected.*tensor.rows;
  std::vector<double> values;
  values.reserve(right.out.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::int64_t x = 0; x < right.columns; ++x) {
      const double value = view.load(rows[i].batch, rows[i].head, rows[i].row, x);
      values.push_back(std::isnan(value) && (expected.*tensor.spoilt)[i] ? right.out[values.size()] : value);
    }
  return values;
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
                                  place_of(found.first_not_finite->row, found.first_not_finite->column), found.first_not_finite->value));
}

std::optional<double> finite(double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; }

void record(const Comparison& comparison, std::size_t rows, Numerics& numerics) {
  Numerics of_tensor;
  of_tensor.max_abs_error = finite(comparison.max_error);
  of_tensor.mean_abs_error = finite(comparison.mean_error);
  of_tensor.rel_error = finite(comparison.rel_error);
  of_tensor.max_budget = finite(comparison.max_error_budget);
  of_tensor.mean_budget = finite(comparison.mean_budget);
  of_tensor.rows_checked = static_cast<std::int64_t>(rows);
  numerics = merged({Status::ok, "", numerics}, {Status::ok, "", of_tensor}).numerics;
}

// All three tensors of these groups are what the reading gives, and the budget tells that from what is right.
bool is_misread_as(const GradientReading& reading, const GradientInput& input, std::span<const KvHead> groups, const Gradients& right, const Gradients& allowed) {
  const Gradients mistaken = reference_gradients(reading, *input.value, input.operands, groups);
  const Gradients budget = naive_gradients(reading, *input.value, input.operands, groups);
  bool differs = false;
  for (const Tensor& tensor : kTensors) {
    const std::int32_t dtype = (input.*tensor.found).dtype;
    const auto& rows = mistaken.*tensor.rows;
    if (!rows.empty() && !compare(read(tensor, input, mistaken), mistaken.*tensor.expected, budget.*tensor.expected, dtype).right) return false;
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
    if (is_misread_as(mistake, input, groups, right, allowed)) return mistake.text();
  return "";
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
  bool all_right = true;
  for (const Tensor& tensor : kTensors) {
    const Evaluation& expected = right.*tensor.expected;
    const auto& rows = right.*tensor.rows;
    const TensorView& view = input.*tensor.found;
    if (rows.empty()) continue;
    const std::vector<double> found = read(tensor, input, right);
    const Comparison comparison = compare(found, expected, allowed.*tensor.expected, view.dtype);
    if (c.dropout > 0) {
      result.numerics.rows_checked += static_cast<std::int64_t>(rows.size());
      const DropoutFinding finding = check_dropout(found, expected, allowed.*tensor.expected, rows, view.dtype, c.dropout);
      const std::string& diagnosis = finding.diagnosis;
      if (result.numerics.diagnosis.empty()) result.numerics.diagnosis = diagnosis;
      if (!finding.reason.empty()) reasons.push_back(fmt::format("{}: {}", tensor.name, finding.reason));
      all_right = all_right && comparison.right;
      continue;
    }
    record(comparison, rows.size(), result.numerics);
    if (comparison.right) continue;
    all_right = false;
    const OutputRow& worst = rows[comparison.worst_row];
    const std::size_t at = comparison.worst_row * static_cast<std::size_t>(expected.columns) + static_cast<std::size_t>(comparison.worst_column);
    reasons.push_back(fmt::format("{}: worst at {}: found {:.7g}, expected {:.7g} within {:.2g}; {}", tensor.name, place_of(worst, comparison.worst_column),
                                  found[at], expected.out[at], comparison.worst_budget, extent_of(comparison.off, rows)));
    const std::int64_t group = tensor.found == &GradientInput::dq ? c.heads / c.heads_kv : 1;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (comparison.off[i]) off.insert({rows[i].batch, rows[i].head / group});
  }
  if (c.dropout > 0 && all_right && !right.q_rows.empty()) result.numerics.diagnosis = "the gradients equal the reference with dropout ignored";
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
  const HostCopy dq = copy(tensors.dq()), dk = copy(tensors.dk()), dv = copy(tensors.dv());
  return check_gradients({.value = &value, .operands = {{q.view, k.view, v.view, mask.view}, dout.view}, .dq = dq.view, .dk = dk.view, .dv = dv.view,
                          .poisoned = true, .seed = seed, .limits = device.sample_limits()});
}

}  // namespace attn
