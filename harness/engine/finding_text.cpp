#include "engine/finding_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace attn {
namespace {

// "head 3", "heads 1, 3", "7 of 32 heads" when only some are off, else empty.
std::string only_some(const char* one, const char* many, const std::set<std::int64_t>& off, const std::set<std::int64_t>& checked) {
  if (off.size() == checked.size()) return "";
  if (off.size() == 1) return fmt::format(", only {} {}", one, *off.begin());
  if (off.size() > 4) return fmt::format(", only {} of {} {}", off.size(), checked.size(), many);
  return fmt::format(", only {} {}", many, joined(off, ", "));
}

}  // namespace

std::string place_of(const OutputRow& row, std::int64_t column) {
  return fmt::format("(batch {}, head {}, row {}, column {})", row.batch, row.head, row.row, column);
}

double without_nan_sign(double value) { return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value; }

std::string elements(std::int64_t count) { return count == 1 ? "1 element" : fmt::format("{} elements", count); }

std::string extent_of(const std::vector<bool>& off, const std::vector<OutputRow>& rows) {
  std::set<std::int64_t> heads, batches, off_heads, off_batches;
  std::int64_t first_off = std::numeric_limits<std::int64_t>::max(), last_right = -1, count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    heads.insert(rows[i].head);
    batches.insert(rows[i].batch);
    if (!off[i]) continue;
    ++count;
    off_heads.insert(rows[i].head);
    off_batches.insert(rows[i].batch);
    first_off = std::min(first_off, rows[i].row);
  }
  if (count == 0) return "no single row is off, but the mean is";
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!off[i] && off_heads.contains(rows[i].head) && off_batches.contains(rows[i].batch)) last_right = std::max(last_right, rows[i].row);
  std::string text = fmt::format("{} of {} checked rows {} off", count, rows.size(), count == 1 ? "is" : "are");
  text += only_some("batch", "batches", off_batches, batches);
  text += only_some("head", "heads", off_heads, heads);
  if (last_right >= 0 && last_right < first_off) text += fmt::format(", only from row {} on", first_off);
  return text;
}

std::string worst_of(const Comparison& comparison, const std::vector<OutputRow>& rows, const std::vector<double>& found, const Evaluation& expected) {
  const std::size_t at = comparison.worst_row * static_cast<std::size_t>(expected.columns) + static_cast<std::size_t>(comparison.worst_column);
  return fmt::format("worst at {}: found {:.7g}, expected {:.7g} within {:.2g}; {}", place_of(rows[comparison.worst_row], comparison.worst_column), without_nan_sign(found[at]),
                     expected.out[at], comparison.worst_budget, extent_of(comparison.off, rows));
}

}  // namespace attn
