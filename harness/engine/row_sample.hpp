#pragma once
// Which rows of an output are checked against the reference: all when that is cheap, else those where faults live.

#include <cstdint>
#include <vector>

#include "core/case.hpp"
#include "engine/reference.hpp"

namespace attn {

struct SampleLimits {
  double flops = 2e9;          // of one evaluation
  double elements = 1 << 22;   // of the output, rows * head_dim_v
};

// Rows below lengths_q in the order (batch, head, row). Deterministic. When all of them exceed the limits: some (batch, head) pairs, always the first and the
// last; of each the first and the last rows, those around multiples of 16, 64 and 128 and around the lengths' ends, the first and last dead rows (of `mask`
// too, when it is not empty), and random ones. The last rows of the last pair are in every sample, even one over the limits.
std::vector<OutputRow> sample_rows(const Case& value, const TensorView& mask, std::uint64_t seed, const SampleLimits& limits = {});

}  // namespace attn
