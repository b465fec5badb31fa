#include "engine/output_scan.hpp"

#include <mutex>

#include "engine/parallel.hpp"

namespace attn {
namespace {

// All bits of the exponent set: infinity or NaN. E4M3 has no infinity; its NaN sets every bit.
std::uint32_t special_bits(std::int32_t dtype) {
  switch (dtype) {
    case ATTN_FP32: return 0x7f800000u;
    case ATTN_FP16: return 0x7c00u;
    case ATTN_BF16: return 0x7f80u;
    case ATTN_FP8_E4M3: return 0x7fu;
    default: return 0x7cu;
  }
}

struct RowScan {
  std::int64_t unwritten = 0, not_finite = 0, first_unwritten = -1, first_not_finite = -1;
};

template <class Bits>
RowScan scan_row(const Bits* data, std::int64_t columns, std::int64_t stride, std::uint32_t special, std::optional<std::uint32_t> poison) {
  RowScan scan;
  bool suspicious = false;  // the poison is a NaN, so one cheap test finds both
  for (std::int64_t x = 0; x < columns; ++x) suspicious |= (data[x * stride] & special) == special;
  if (!suspicious) return scan;
  for (std::int64_t x = 0; x < columns; ++x) {
    const std::uint32_t bits = data[x * stride];
    if ((bits & special) != special) continue;
    const bool unwritten = poison && bits == *poison;
    if ((unwritten ? scan.unwritten : scan.not_finite)++ == 0) (unwritten ? scan.first_unwritten : scan.first_not_finite) = x;
  }
  return scan;
}

// The last page of the entry's keys holds places without a key.
bool has_page_tail(const Case& c, std::int64_t b) { return c.page_size > 0 && keys_of(c, b) % c.page_size != 0; }

}  // namespace

OutputScan scan_output(const Case& c, const TensorView& mask, const TensorView& output, std::optional<std::uint32_t> poison) {
  const Reading reading{.value = c, .text = {}};
  const std::uint32_t special = special_bits(output.dtype);
  const std::size_t size = element_bytes(output.dtype);
  OutputScan total;
  std::int64_t lowest_unwritten = -1, lowest_not_finite = -1;
  std::mutex merging;
  const auto note = [&](std::int64_t line, const OutputRow& row, std::int64_t column, std::int64_t& lowest, std::optional<Found>& found) {
    if (column < 0 || (lowest >= 0 && lowest < line)) return;
    lowest = line;
    found = Found{row, column, output.load(row.batch, row.head, row.row, column)};
  };
  parallel_for(c.batch * c.heads * c.seq_q, std::max<std::int64_t>(1, 65536 / c.head_dim_v), [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t line = first; line < end; ++line) {
      const OutputRow row{line / c.seq_q / c.heads, line / c.seq_q % c.heads, line % c.seq_q};
      if (!output.has_row(row.batch, row.row)) continue;
      const std::int64_t at = output.offset(row.batch, row.head, row.row, 0);
      const auto scanned = [&]<class Bits>(const Bits* data) { return scan_row(data + at, c.head_dim_v, output.strides[3], special, poison); };
      RowScan scan = size == 4   ? scanned(static_cast<const std::uint32_t*>(output.data))
                     : size == 2 ? scanned(static_cast<const std::uint16_t*>(output.data))
                                 : scanned(static_cast<const std::uint8_t*>(output.data));
      if (scan.unwritten + scan.not_finite == 0) continue;
      const bool padding = row.row >= rows_of(c, row.batch);
      if (padding) scan.unwritten = 0, scan.first_unwritten = -1;
      if (!padding && c.dead_rows == DeadRows::nan && is_dead(reading, mask, row)) {
        scan.not_finite = 0, scan.first_not_finite = -1;
        if (size == 1) scan.unwritten = 0, scan.first_unwritten = -1;
      }
      const std::lock_guard lock(merging);
      total.unwritten += scan.unwritten;
      total.not_finite += scan.not_finite;
      note(line, row, scan.first_unwritten, lowest_unwritten, total.first_unwritten);
      note(line, row, scan.first_not_finite, lowest_not_finite, total.first_not_finite);
      if (scan.not_finite > 0 && rows_of(c, row.batch) == c.seq_q && keys_of(c, row.batch) == c.seq_kv && !has_page_tail(c, row.batch)) total.not_finite_beside_padding_only = false;
    }
  });
  return total;
}

}  // namespace attn
