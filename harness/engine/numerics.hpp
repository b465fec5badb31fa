#pragma once
// Is an output right? Every element written and finite, checked rows within the budget that a naive evaluation sets, and if not: what it equals instead.

#include <cstdint>
#include <optional>
#include <string>

#include "core/case.hpp"
#include "core/measurement.hpp"
#include "engine/comparison.hpp"
#include "engine/reference.hpp"
#include "engine/row_sample.hpp"

namespace attn {

struct CheckInput {
  const Case* value = nullptr;
  const Reference* reference = nullptr;  // of the operands as they were during the call
  TensorView mask;                      // as fill_mask; empty without a mask tensor. This and the outputs lie in host memory
  TensorView output;                    // (B, H, Sq, Dv)
  TensorView lse;                       // (B, H, Sq, 1), fp32; empty = not checked
  TensorView previous;                  // the output of a call on other inputs, to name a cached answer; empty = none
  std::optional<std::uint32_t> poison;  // the bits of an element that was never written; none = not checked
  std::uint64_t seed = 0;               // of the row sample
  SampleLimits limits;
};

struct NumericsResult {
  Status status = Status::ok;  // ok or wrong
  std::string reason;          // one line when wrong
  Numerics numerics;
};

// The budget of a row (DESIGN section 2): 2 x the naive evaluation's error + 2 ulp of the output's dtype at the row's largest |value|. The naive error
// of a row is taken from all rows with about as many visible keys, eight at least (twice it in a case that has fewer), in proportion to their noise, so that luck
// in one row does not count and a row of small values is not excused by rows of large ones. The mean over all elements likewise. Buried rows (is_buried in
// comparison.hpp) are judged by each other alone, and left out of the mean. What a flush to zero may lose (kFlushed there) is allowed where not exactly 0 is right.
// A dead row must be exactly 0 (zero), all NaN (nan), or the mean within the budget. Rows past lengths_q may hold anything finite or stay unwritten.
// With dropout the output is random: checked are writing, finiteness, that it is not the one without dropout, and dropout_check.hpp.
// Costs a few evaluations of `limits.flops`, about twenty when the answer is wrong, on several threads.
NumericsResult check_output(const CheckInput& input);

// What is stored of a comparison of `rows` rows; nothing but their number when there are none.
Numerics numbers_of(const Comparison& comparison, std::size_t rows);

// Two checks of one call: the worse status, both reasons, the numbers of the one that comes closer to its budget (or is further beyond).
NumericsResult merged(NumericsResult first, const NumericsResult& second);

// The reference and the judgement against values computed by hand (probes P1 to P7) and against a reference degraded to bf16, which must be noticed. Returns
// what is wrong with them, or nothing.
std::optional<std::string> reference_self_test();

}  // namespace attn
