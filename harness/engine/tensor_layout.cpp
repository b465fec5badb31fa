#include "engine/tensor_layout.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/philox.hpp"

namespace attn {
namespace {

constexpr std::int64_t kSlicePitch = 16;  // further elements of each row of a sliced tensor: keeps rows 16-byte aligned in every dtype

// The axes (0 batch, 1 heads, 2 seq) from the outermost to the innermost in memory.
std::array<std::size_t, 3> axis_order(Layout layout, StrideKind kind) {
  std::array<std::size_t, 3> order = layout == Layout::bshd || layout == Layout::packed_qkv || layout == Layout::thd ? std::array<std::size_t, 3>{0, 2, 1}
                                     : layout == Layout::sbhd                                                       ? std::array<std::size_t, 3>{2, 0, 1}
                                                                                                                    : std::array<std::size_t, 3>{0, 1, 2};
  if (kind == StrideKind::transposed)
    for (std::size_t& axis : order) axis = axis == 0 ? 0 : 3 - axis;
  return order;
}

std::int64_t pages_of(std::int64_t keys, std::int64_t page_size) { return (keys + page_size - 1) / page_size; }

}  // namespace

TensorLayout dense_layout(const std::array<std::int64_t, 4>& shape, Layout layout, StrideKind kind) {
  TensorLayout result;
  result.shape = shape;
  result.pitch = shape[3] + (kind == StrideKind::sliced ? kSlicePitch : 0);
  result.strides[3] = 1;
  std::int64_t stride = result.pitch;
  const auto order = axis_order(layout, kind);
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    const bool expanded = kind == StrideKind::expanded && *axis == 1;
    result.strides[*axis] = expanded ? 0 : stride;
    if (!expanded) stride *= shape[*axis];
  }
  result.elements = stride;
  result.abi_shape.assign(shape.begin(), shape.end());
  result.abi_strides.assign(result.strides.begin(), result.strides.end());
  return result;
}

TensorLayout ragged_layout(const std::array<std::int64_t, 4>& shape, const std::vector<std::int64_t>& lengths, StrideKind kind) {
  const std::int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  TensorLayout result = dense_layout({1, shape[1], tokens, shape[3]}, Layout::thd, kind);
  result.abi_shape = {tokens, shape[1], shape[3]};
  result.abi_strides = {result.strides[2], result.strides[1], 1};
  result.rows.assign(static_cast<std::size_t>(shape[0] * shape[2]), -1);
  std::int64_t token = 0;
  for (std::int64_t b = 0; b < shape[0]; ++b)
    for (std::int64_t s = 0; s < lengths[static_cast<std::size_t>(b)]; ++s) result.rows[static_cast<std::size_t>(b * shape[2] + s)] = token++ * result.strides[2];
  result.shape = shape;
  return result;
}

TensorLayout paged_layout(const std::array<std::int64_t, 4>& shape, const Case& c, StrideKind kind) {
  const PageTable table = page_table(c);
  const std::array<std::int64_t, 4> pages{table.count, shape[1], c.page_size, shape[3]};
  TensorLayout result = dense_layout(pages, c.layout, kind);
  result.rows.assign(static_cast<std::size_t>(shape[0] * shape[2]), -1);
  for (std::int64_t b = 0; b < shape[0]; ++b)
    for (std::int64_t s = 0; s < keys_of(c, b); ++s) {
      const std::int64_t page = table.pages[static_cast<std::size_t>(b * table.pages_per_entry + s / c.page_size)];
      result.rows[static_cast<std::size_t>(b * shape[2] + s)] = page * result.strides[0] + s % c.page_size * result.strides[2];
    }
  result.shape = shape;
  return result;
}

PageTable page_table(const Case& c) {
  PageTable table;
  std::int64_t used = 0;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    const std::int64_t pages = pages_of(keys_of(c, b), c.page_size);
    used += pages;
    table.pages_per_entry = std::max(table.pages_per_entry, pages);
  }
  table.count = used + 1;
  std::vector<std::int32_t> order(static_cast<std::size_t>(used));
  std::iota(order.begin(), order.end(), 0);
  if (c.page_order == PageOrder::shuffled)
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_bits(0, RandomStream::pages, i) % i]);
  table.pages.assign(static_cast<std::size_t>(c.batch * table.pages_per_entry), static_cast<std::int32_t>(used));
  std::size_t next = 0;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t page = 0; page < pages_of(keys_of(c, b), c.page_size); ++page)
      table.pages[static_cast<std::size_t>(b * table.pages_per_entry + page)] = order[next++];
  return table;
}

std::vector<std::int32_t> starts_of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int32_t> starts{0};
  for (const std::int64_t length : lengths) starts.push_back(starts.back() + static_cast<std::int32_t>(length));
  return starts;
}

}  // namespace attn
