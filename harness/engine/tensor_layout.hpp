#pragma once
// Where the elements of a case's operands lie: dense in any order and stride kind, ragged, or in pages.

#include <array>
#include <cstdint>
#include <vector>

#include "core/case.hpp"

namespace attn {

struct TensorLayout {
  std::array<std::int64_t, 4> shape{}, strides{};  // (batch, heads, seq, head_dim), in elements
  std::int64_t elements = 0;                       // of the storage, gaps included
  std::int64_t pitch = 0;                          // elements from one row of head_dim to the next; what is not head_dim of it is a gap
  std::vector<std::int64_t> rows;                  // a row table (batch, seq), see RowTable; empty: strides alone
  std::vector<std::int64_t> abi_shape, abi_strides;  // as a backend sees it: the same; ragged (tokens, heads, head_dim); paged (pages, heads, page, head_dim)
};

// `shape` in logical order.
TensorLayout dense_layout(const std::array<std::int64_t, 4>& shape, Layout layout, StrideKind kind);
// Entry b's rows follow entry b - 1's; `lengths` one per entry.
TensorLayout ragged_layout(const std::array<std::int64_t, 4>& shape, const std::vector<std::int64_t>& lengths, StrideKind kind);
// One more page than the table names holds nobody's keys.
TensorLayout paged_layout(const std::array<std::int64_t, 4>& shape, const Case& value, StrideKind kind);

// (batch, pages of the longest sequence): which page holds which keys; in order, or shuffled, always the same way. Entries past a sequence's pages name the
// page of nobody.
struct PageTable {
  std::vector<std::int32_t> pages;
  std::int64_t pages_per_entry = 0, count = 0;     // count: pages in memory, the one of nobody included
};
PageTable page_table(const Case& value);

// starts[b] .. starts[b + 1]: the tokens of entry b.
std::vector<std::int32_t> starts_of(const std::vector<std::int64_t>& lengths);

}  // namespace attn
