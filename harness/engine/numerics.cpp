#include "engine/numerics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "engine/comparison.hpp"
#include "engine/dropout_check.hpp"
#include "engine/finding_text.hpp"
#include "engine/output_scan.hpp"

namespace attn {
namespace {

constexpr std::size_t kDiagnosisRows = 256;

std::vector<double> read_rows(const TensorView& output, const std::vector<OutputRow>& rows, std::int64_t columns) {
  std::vector<double> values;
  values.reserve(rows.size() * static_cast<std::size_t>(columns));
  for (const OutputRow& row : rows)
    for (std::int64_t x = 0; x < columns; ++x) values.push_back(output.load(row.batch, row.head, row.row, x));
  return values;
}

bool same_bits(const TensorView& a, const TensorView& b, const std::vector<OutputRow>& rows, std::int64_t columns) {
  const std::size_t size = element_bytes(a.dtype);
  if (a.dtype != b.dtype) return false;
  const auto at = [&](const TensorView& t, const OutputRow& row, std::int64_t x) {
    return static_cast<const std::byte*>(t.data) + t.offset(row.batch, row.head, row.row, x) * static_cast<std::int64_t>(size);
  };
  for (const OutputRow& row : rows)
    for (std::int64_t x = 0; x < columns; ++x)
      if (std::memcmp(at(a, row, x), at(b, row, x), size) != 0) return false;
  return true;
}

// Rows on which the misreadings are tried: some of those that are off, and some of all, so that a match explains both.
std::vector<OutputRow> diagnosis_rows(const std::vector<OutputRow>& rows, const std::vector<bool>& off, std::size_t most) {
  if (rows.size() <= most) return rows;
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (off[i]) wrong.push_back(i);
  std::set<std::size_t> chosen;
  for (std::size_t i = 0; i < most / 2; ++i) {
    chosen.insert(i * rows.size() / (most / 2));
    if (!wrong.empty()) chosen.insert(wrong[i * wrong.size() / (most / 2)]);
  }
  std::vector<OutputRow> result;
  for (const std::size_t i : chosen) result.push_back(rows[i]);
  return result;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    const double each = std::fabs(a[i] - b[i]);
    sum += std::isfinite(each) ? each : 1e30;
  }
  return sum;
}

// The output and what is right for some rows.
struct Known {
  Known(const CheckInput& input, std::vector<OutputRow> of) : rows(std::move(of)) {
    const Reading right{.value = *input.value, .text = {}};
    expected = input.reference->exact(right, rows);
    allowed = input.reference->naive(right, rows);
    found = read_rows(input.output, rows, input.value->head_dim_v);
  }
  std::vector<OutputRow> rows;
  Evaluation expected, allowed;
  std::vector<double> found;
};

bool is_misread_as(const Reading& reading, const CheckInput& input, const Known& known) {
  const Evaluation mistaken = input.reference->exact(reading, known.rows);
  if (distance(known.found, mistaken.out) >= distance(known.found, known.expected.out)) return false;  // no better than the right answer
  if (!compare(known.found, mistaken, input.reference->naive(reading, known.rows), input.output.dtype).right) return false;
  // A misreading that the budget cannot tell from the right one explains nothing.
  return !compare(mistaken.out, known.expected, known.allowed, input.output.dtype).right;
}

// "softcap ignored", when the output is what that misreading gives, and that is not what is right; else empty.
std::string matching_misreading(const CheckInput& input, const std::vector<OutputRow>& rows) {
  const Known known(input, rows);
  for (const Reading& reading : misreadings(*input.value)) {
    if (reading.head_map != HeadMap::divided_by_kv) {
      if (is_misread_as(reading, input, known)) return reading.text;
      continue;
    }
    // That map leaves the range of KV heads; only the other heads can be compared.
    std::vector<OutputRow> inside = rows;
    std::erase_if(inside, [&](const OutputRow& row) { return row.head / input.value->heads_kv >= input.value->heads_kv; });
    if (!inside.empty() && is_misread_as(reading, input, Known(input, inside))) return reading.text;
  }
  return "";
}

std::string check_lse(const CheckInput& input, const std::vector<OutputRow>& rows, const Evaluation& expected, const Evaluation& naive_rows) {
  const auto dtype = static_cast<std::int32_t>(input.value->dtype);
  double naive_errors[2] = {};  // of buried rows, and of the others
  const auto naive_error = [&](std::size_t i) -> double& { return naive_errors[is_buried(expected.lse[i], dtype) ? 0 : 1]; };
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (const double error = std::fabs(naive_rows.lse[i] - expected.lse[i]); std::isfinite(error)) naive_error(i) = std::max(naive_error(i), error);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double found = input.lse.load(rows[i].batch, rows[i].head, rows[i].row, 0), want = expected.lse[i];
    const bool dead = std::isinf(want);
    // Kernels differ in the sign of a dead row's infinity, and with the policy mean it has no agreed value.
    if (dead ? std::isinf(found) || input.value->dead_rows == DeadRows::mean
             : std::fabs(found - want) <= 2 * naive_error(i) + 4 * ulp(std::max(std::fabs(want), 1.0), ATTN_FP32))
      continue;
    return fmt::format("lse of (batch {}, head {}, row {}): found {:.9g}, expected {:.9g}", rows[i].batch, rows[i].head, rows[i].row, found, want);
  }
  return "";
}

}  // namespace

Numerics numbers_of(const Comparison& comparison, std::size_t rows) {
  const auto finite = [](double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; };
  Numerics numerics;
  numerics.rows_checked = static_cast<std::int64_t>(rows);
  if (rows == 0) return numerics;
  numerics.max_abs_error = finite(comparison.max_error);
  numerics.mean_abs_error = finite(comparison.mean_error);
  numerics.rel_error = finite(comparison.rel_error);
  numerics.max_budget = finite(comparison.max_error_budget);
  numerics.mean_budget = finite(comparison.mean_budget);
  return numerics;
}

NumericsResult merged(NumericsResult first, const NumericsResult& second) {
  const auto share = [](const Numerics& numerics) {
    if (!numerics.max_abs_error || !numerics.max_budget || *numerics.max_abs_error == 0) return 0.0;
    return *numerics.max_abs_error / *numerics.max_budget;
  };
  const std::int64_t rows_checked = first.numerics.rows_checked + second.numerics.rows_checked;
  const std::string diagnosis = !first.numerics.diagnosis.empty() ? first.numerics.diagnosis : second.numerics.diagnosis;
  if (!first.numerics.max_abs_error || share(second.numerics) > share(first.numerics)) first.numerics = second.numerics;
  first.numerics.rows_checked = rows_checked;
  first.numerics.diagnosis = diagnosis;
  if (second.status != Status::ok) first.status = second.status;
  if (!second.reason.empty()) first.reason += (first.reason.empty() ? "" : "; ") + second.reason;
  return first;
}

NumericsResult check_output(const CheckInput& input) {
  const Case& c = *input.value;
  const Reading right{.value = c, .text = {}};
  NumericsResult result;
  std::vector<std::string> reasons;

  const OutputScan scan = scan_output(c, input.mask, input.output, input.poison);
  if (scan.unwritten > 0)
    reasons.push_back(fmt::format("{} never written, first {}", elements(scan.unwritten), place_of(scan.first_unwritten->row, scan.first_unwritten->column)));
  if (scan.not_finite > 0)
    reasons.push_back(fmt::format("{} not finite, first {}: {}", elements(scan.not_finite),
                                  place_of(scan.first_not_finite->row, scan.first_not_finite->column), without_nan_sign(scan.first_not_finite->value)));

  const std::vector<OutputRow> rows = sample_rows(c, input.mask, input.seed, input.limits);
  const Evaluation expected = input.reference->exact(right, rows), allowed = input.reference->naive(right, rows);
  const std::vector<double> found = read_rows(input.output, rows, c.head_dim_v);
  const Comparison comparison = compare(found, expected, allowed, input.output.dtype);
  Numerics& numerics = result.numerics;
  if (c.dropout > 0) {
    numerics.rows_checked = static_cast<std::int64_t>(rows.size());
    numerics.diagnosis = comparison.right && must_show_dropout(found, expected, comparison.budgets, c.dropout) ? "equals the reference with dropout ignored" : "";
    if (numerics.diagnosis.empty()) {
      const DropoutFinding finding = check_dropout(found, expected, allowed, rows, input.output.dtype, c.dropout);
      if (!finding.reason.empty()) reasons.push_back(finding.reason);
      numerics.diagnosis = finding.diagnosis;
    }
    if (!numerics.diagnosis.empty()) reasons.insert(reasons.begin(), numerics.diagnosis);
    if (!reasons.empty()) result.status = Status::wrong, result.reason = joined(reasons, "; ");
    return result;
  }

  numerics = numbers_of(comparison, rows.size());
  if (!comparison.right) reasons.push_back(worst_of(comparison, rows, found, expected));
  if (input.lse)
    if (std::string wrong = check_lse(input, rows, expected, allowed); !wrong.empty()) reasons.push_back(std::move(wrong));
  if (reasons.empty()) return result;

  if (!comparison.right && input.previous && same_bits(input.output, input.previous, rows, c.head_dim_v))
    numerics.diagnosis = "equals the output of the previous inputs (a cached answer)";
  else if (c.inputs == Inputs::poison_padding && scan.not_finite > 0 && scan.not_finite_beside_padding_only)
    numerics.diagnosis = "reads the padding past the lengths";
  else if (!comparison.right) {
    // A misreading costs two evaluations, and there are about ten.
    const double share = std::max(1.0, static_cast<double>(rows.size()) * static_cast<double>(c.seq_kv) *
                                           static_cast<double>(2 * (c.head_dim + c.head_dim_v)) / (input.limits.flops / 4));
    const auto most = std::clamp(static_cast<std::size_t>(static_cast<double>(rows.size()) / share), std::size_t{16}, kDiagnosisRows);
    if (const std::string text = matching_misreading(input, diagnosis_rows(rows, comparison.off, most)); !text.empty())
      numerics.diagnosis = "equals the reference with " + text;
  }
  if (numerics.diagnosis.empty() && c.page_size > 0 && scan.not_finite > 0 && scan.not_finite_beside_padding_only)
    numerics.diagnosis = "reads places of pages that hold no key of the sequence";
  if (!numerics.diagnosis.empty()) reasons.insert(reasons.begin(), numerics.diagnosis);
  result.status = Status::wrong;
  result.reason = joined(reasons, "; ");
  return result;
}

}  // namespace attn
