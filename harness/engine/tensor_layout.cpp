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

// Stays at kManyElements.
std::int64_t product(std::int64_t a, std::int64_t b) { return b > 0 && a > kManyElements / b ? kManyElements : a * b; }

std::int64_t pages_of(std::int64_t keys, std::int64_t page_size) { return (keys + page_size - 1) / page_size; }

}  // namespace

TensorLayout query_layout(const Case& c, std::int64_t dim, StrideKind kind) {
  const std::array<std::int64_t, 4> shape{c.batch, c.heads, c.seq_q, dim};
  return c.layout == Layout::thd ? ragged_layout(shape, c.lengths_q, kind) : dense_layout(shape, c.layout, kind);
}

TensorLayout key_layout(const Case& c, std::int64_t dim, StrideKind kind) {
  const std::array<std::int64_t, 4> shape{c.batch, c.heads_kv, c.seq_kv, dim};
  if (c.page_size > 0) return paged_layout(shape, c, kind);
  return c.layout == Layout::thd ? ragged_layout(shape, c.lengths_kv, kind) : dense_layout(shape, c.layout, kind);
}

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
    if (!expanded) stride = product(stride, shape[*axis]);
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
  result.rows = [shape, lengths, stride = result.strides[2]] {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(shape[0] * shape[2]), -1);
    std::int64_t token = 0;
    for (std::int64_t b = 0; b < shape[0]; ++b)
      for (std::int64_t s = 0; s < lengths[static_cast<std::size_t>(b)]; ++s) rows[static_cast<std::size_t>(b * shape[2] + s)] = token++ * stride;
    return rows;
  };
  result.shape = shape;
  return result;
}

TensorLayout paged_layout(const std::array<std::int64_t, 4>& shape, const Case& c, StrideKind kind) {
  const PageCounts counts = page_counts(c);
  TensorLayout result = dense_layout({counts.all, shape[1], c.page_size, shape[3]}, c.layout, kind);
  result.rows = [shape, c, counts, strides = result.strides] {
    const std::vector<std::int32_t> pages = page_table(c);
    std::vector<std::int64_t> rows(static_cast<std::size_t>(shape[0] * shape[2]), -1);
    for (std::int64_t b = 0; b < shape[0]; ++b)
      for (std::int64_t s = 0; s < keys_of(c, b); ++s) {
        const std::int64_t page = pages[static_cast<std::size_t>(b * counts.per_entry + s / c.page_size)];
        rows[static_cast<std::size_t>(b * shape[2] + s)] = page * strides[0] + s % c.page_size * strides[2];
      }
    return rows;
  };
  result.shape = shape;
  return result;
}

TensorLayout table_layout(const std::vector<std::int64_t>& shape) {
  TensorLayout result;
  result.abi_shape = result.abi_strides = shape;
  result.elements = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    result.abi_strides[axis] = result.elements;
    result.elements = product(result.elements, shape[axis]);
  }
  return result;
}

PageCounts page_counts(const Case& c) {
  PageCounts counts{.per_entry = 0, .all = 1};
  for (std::int64_t b = 0; b < c.batch; ++b) {
    const std::int64_t pages = pages_of(keys_of(c, b), c.page_size);
    counts.all += pages;
    counts.per_entry = std::max(counts.per_entry, pages);
  }
  return counts;
}

std::vector<std::int32_t> page_table(const Case& c) {
  const PageCounts counts = page_counts(c);
  const std::int64_t nobodys = counts.all - 1;
  std::vector<std::int32_t> order(static_cast<std::size_t>(nobodys));
  std::iota(order.begin(), order.end(), 0);
  if (c.page_order == PageOrder::shuffled)
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_bits(0, RandomStream::pages, i) % i]);
  std::vector<std::int32_t> table(static_cast<std::size_t>(c.batch * counts.per_entry), static_cast<std::int32_t>(nobodys));
  std::size_t next = 0;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t page = 0; page < pages_of(keys_of(c, b), c.page_size); ++page)
      table[static_cast<std::size_t>(b * counts.per_entry + page)] = order[next++];
  return table;
}

std::vector<std::int32_t> starts_of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int32_t> starts{0};
  for (const std::int64_t length : lengths) starts.push_back(starts.back() + static_cast<std::int32_t>(length));
  return starts;
}

}  // namespace attn
