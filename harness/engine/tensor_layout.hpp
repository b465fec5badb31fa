#pragma once
// Where the elements of a case's operands lie: dense in any order and stride kind, ragged, or in pages.

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/case.hpp"

namespace attn {

// More than any memory holds. A layout of more counts no further.
inline constexpr std::int64_t kManyElements = std::int64_t{1} << 60;

struct TensorLayout {
  std::array<std::int64_t, 4> shape{}, strides{};  // (batch, heads, seq, head_dim), in elements
  std::int64_t elements = 0;                       // of the storage, gaps included; kManyElements: the strides are wrong
  std::int64_t pitch = 0;                          // elements from one row of head_dim to the next; what is not head_dim of it is a gap
  // Makes the row table (batch, seq), see RowTable; empty: strides alone. A function, because a table of what fits nowhere fits nowhere either.
  std::function<std::vector<std::int64_t>()> rows;
  std::vector<std::int64_t> abi_shape, abi_strides;  // as a backend sees it: the same; ragged (tokens, heads, head_dim); paged (pages, heads, page, head_dim)
};

// Of q, o and what has their rows, and of k, v and what has theirs, with `dim` columns.
TensorLayout query_layout(const Case& value, std::int64_t dim, StrideKind kind);
TensorLayout key_layout(const Case& value, std::int64_t dim, StrideKind kind);

// `shape` in logical order.
TensorLayout dense_layout(const std::array<std::int64_t, 4>& shape, Layout layout, StrideKind kind);
// Entry b's rows follow entry b - 1's; `lengths` one per entry.
TensorLayout ragged_layout(const std::array<std::int64_t, 4>& shape, const std::vector<std::int64_t>& lengths, StrideKind kind);
// One more page than the table names holds nobody's keys.
TensorLayout paged_layout(const std::array<std::int64_t, 4>& shape, const Case& value, StrideKind kind);
// A table that a backend reads, (batch) and the like, its rows following each other.
TensorLayout table_layout(const std::vector<std::int64_t>& shape);

struct PageCounts {
  std::int64_t per_entry = 0, all = 0;  // of the longest sequence; in memory, the one of nobody included
};
PageCounts page_counts(const Case& value);
// (batch, per_entry): which page holds which keys; in order, or shuffled, always the same way. Entries past a sequence's pages name the page of nobody.
std::vector<std::int32_t> page_table(const Case& value);

// starts[b] .. starts[b + 1]: the tokens of entry b.
std::vector<std::int32_t> starts_of(const std::vector<std::int64_t>& lengths);

}  // namespace attn
