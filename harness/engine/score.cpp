#include "engine/score.hpp"

#include <algorithm>
#include <utility>

#include "engine/inputs.hpp"
#include "engine/tensor_layout.hpp"

namespace attn {
namespace {

std::int64_t mask_offset(const Reading& reading, const TensorView& mask, const OutputRow& row) {
  const auto& full = reading.value.mask_tensor.full;
  return mask.offset(full[0] ? row.batch : 0, full[1] ? row.head : 0, full[2] ? row.row : 0, 0);
}

Case without_lengths(Case c) {
  c.lengths_q.clear();
  c.lengths_kv.clear();
  return c;
}

// The keys of `c` that the diagonal of another case leaves.
KeyRange visible_keys(const Case& c, const Case& diagonal, const OutputRow& row) {
  if (row.row >= rows_of(c, row.batch)) return {};
  KeyRange keys = visible_keys(diagonal, row.batch, row.row);
  keys.end = std::max(keys.first, std::min(keys.end, keys_of(c, row.batch)));
  return keys;
}

}  // namespace

MaskReader mask_reader(const Reading& reading, const TensorView& mask) {
  if (reading.value.mask != MaskKind::tensor || !mask) return {};
  const MaskTensor& tensor = reading.value.mask_tensor;
  return {.data = mask.data, .dtype = mask.dtype, .boolean = tensor.dtype == MaskDType::boolean, .inverted = reading.mask_inverted,
          .hidden_below = lowest_finite(mask.dtype) / 2, .step = tensor.full[3] ? mask.strides[3] : 0};
}

RowPlanner::RowPlanner(const Reading& reading, const TensorView& mask) : reading_(reading), mask_(mask) {
  if (reading.padded_diagonal) padded_ = without_lengths(reading.value);
  for (const double slope : resolved_slopes(reading.value)) slopes_.push_back(static_cast<float>(slope));
}

std::int64_t RowPlanner::kv_head(std::int64_t head) const {
  const Case& c = reading_.value;
  switch (reading_.head_map) {
    case HeadMap::grouped: return head / (c.heads / c.heads_kv);
    case HeadMap::modulo: return head % c.heads_kv;
    default: return head / c.heads_kv;
  }
}

RowPlan RowPlanner::operator()(const OutputRow& row, std::size_t index) const {
  const Case& c = reading_.value;
  const KeyRange keys = visible_keys(c, diagonal(), row);
  RowPlan plan{.index = index, .batch = row.batch, .head = row.head, .row = row.row, .kv_head = kv_head(row.head), .first = keys.first, .end = keys.end,
               .own = row.row + diagonal_offset(diagonal(), row.batch)};
  if (row.row >= rows_of(c, row.batch)) return plan;
  if (reading_.value.mask == MaskKind::tensor && mask_) plan.mask_at = mask_offset(reading_, mask_, row);
  if (!slopes_.empty()) plan.slope = slopes_[static_cast<std::size_t>(row.head)];
  if (c.dead_rows == DeadRows::mean) plan.dead_end = keys_of(c, row.batch);
  if (keys.size() == 0) plan.die();
  return plan;
}

Keys misread_keys(const Reading& reading, const Operands& given) {
  Keys keys{given.k, given.v};
  if (reading.kv_swapped) std::swap(keys.k, keys.v);
  for (TensorView* view : {&keys.k, &keys.v}) {
    if (reading.kv_dtype_ignored) view->dtype = static_cast<std::int32_t>(reading.value.dtype);
    if (reading.kv_strides_ignored) view->strides = dense_layout(view->shape, Layout::bhsd, StrideKind::dense).strides;
  }
  return keys;
}

std::vector<std::int64_t> misread_rows(const Reading& reading, const TensorView& keys) {
  std::vector<std::int64_t> rows;
  rows.reserve(reading.key_places.size());
  const std::int64_t page = reading.value.page_size, longest = reading.value.seq_kv;
  for (const std::int64_t place : reading.key_places)
    rows.push_back(place < 0 ? -1 : page > 0 ? place / page * keys.strides[0] + place % page * keys.strides[2] : keys.row(place / longest, place % longest));
  return rows;
}

MisreadOperands::MisreadOperands(const Reading& reading, const Operands& given)
    : k_rows_(misread_rows(reading, given.k)), v_rows_(misread_rows(reading, given.v)), operands_(given) {
  const Keys keys = misread_keys(reading, given);
  operands_.k = keys.k;
  operands_.v = keys.v;
  if (k_rows_.empty()) return;
  operands_.k.rows = {k_rows_.data(), nullptr};
  operands_.v.rows = {v_rows_.data(), nullptr};
}

bool is_dead(const Reading& reading, const TensorView& mask, const OutputRow& row) {
  const Case& c = reading.value;
  const KeyRange keys = reading.padded_diagonal ? visible_keys(c, without_lengths(c), row) : visible_keys(c, row.batch, row.row);
  if (keys.size() == 0) return true;
  const MaskReader reader = mask_reader(reading, mask);
  return reader && reader.hides_all(mask_offset(reading, mask, row), keys.first, keys.end);
}

}  // namespace attn
