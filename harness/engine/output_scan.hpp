#pragma once
// One pass over a whole output: what was never written, and what is not finite where it must be.

#include <cstdint>
#include <optional>

#include "engine/reference.hpp"

namespace attn {

struct Found {
  OutputRow row;
  std::int64_t column = 0;
  float value = 0;
};

struct OutputScan {
  std::int64_t unwritten = 0, not_finite = 0;  // elements
  std::optional<Found> first_unwritten, first_not_finite;
  bool not_finite_beside_padding_only = true;  // all in batch entries that have padding, or a page with room behind its keys
};

// Rows that `output` does not have are passed over. Rows past lengths_q may stay unwritten. Rows that are dead under the policy nan may hold NaN (of 8-bit formats also the poison, which is one of its few NaNs).
// `output` (B, H, Sq, Dv); `poison`: the bits of an element that was never written.
OutputScan scan_output(const Case& value, const TensorView& mask, const TensorView& output, std::optional<std::uint32_t> poison);

}  // namespace attn
