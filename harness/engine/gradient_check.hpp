#pragma once
// Are gradients right? Every element written and finite, the rows of checked groups within the budget that naive gradients set, and if not: what they equal.

#include <cstdint>

#include "engine/device.hpp"
#include "engine/gradients.hpp"
#include "engine/numerics.hpp"
#include "engine/tensors.hpp"

namespace attn {

struct GradientInput {
  const Case* value = nullptr;
  GradientOperands operands;  // as they were during the call; these and the gradients lie in host memory
  TensorView dq, dk, dv;      // (B, H, Sq, D), (B, Hkv, Skv, D), (B, Hkv, Skv, Dv)
  TensorView o;               // (B, H, Sq, Dv), of the same seed; read only with dropout, empty = not compared
  bool poisoned = true;       // elements that were never written hold poison_bits
  std::uint64_t seed = 0;     // of the groups' sample
  SampleLimits limits;
};

// The budget of a row is the output's (check_output), with the gradients' own noise; it is in the dtype of its tensor. The mean likewise, tensor by tensor.
// Exactly 0 are dq of dead rows, and dk and dv of keys that no query sees. Rows past the lengths may hold anything finite or stay unwritten. Under the policy nan
// a dead row's dq, and dk and dv of a KV head with such a row, may be NaN, which then has no part in what dropout is known by. With dropout see dropout_check.hpp; and, as forward and backward pass drop the same
// weights, sum(dv . v) over the keys of a KV head is sum(dout . o) over the rows that read it, and sum(dk . k) is sum(dq . q): but for rounding, of which six
// standard deviations are allowed, as the naive evaluation has them and no less than 2^-12 (TF32).
NumericsResult check_gradients(const GradientInput& input);

// The same of what a call has left in `tensors`.
NumericsResult check_gradients(Device& device, const Case& value, const Tensors& tensors, std::uint64_t seed);

}  // namespace attn
