#pragma once
// The gradients of attention on the host, twice like the output in reference.hpp: in double precision from the inputs as the backend sees them, and as a naive
// implementation in the case's own dtype would.
//
//   dV = P^T dO    dP = dO V^T    dS = P (dP - D), D = rowsum(dO O), times 1 - tanh^2 under a softcap    dQ = scale dS K    dK = scale dS^T Q
//
// dK and dV sum over the query heads of a group. Mask tensors and ALiBi get no gradient of their own. A dead row gives none (policies zero and nan) or, by the
// policy mean, the mean's to V. Under nan its weights are NaN in autograd and spoil every key of its sequence: see Gradients::*_spoilt.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/reference.hpp"
#include "engine/row_sample.hpp"

namespace attn {

struct GradientOperands {
  Operands inputs;
  TensorView dout;  // (B, H, Sq, Dv). All lie in host memory
  TensorView dout_as_dense = {};  // what a backend reads that takes dout to lie dense in this order; empty where that is dout, or partly nothing
};

// A KV head with the query heads that read it: its gradients can be known without any other's.
struct KvHead {
  std::int64_t batch = 0, head = 0;
};

// A mistake that only a backward pass makes.
enum class GradientSlip { none, softcap_derivative, delta, scale, one_head, dout_strides };

struct GradientReading {
  Reading forward;
  GradientSlip slip = GradientSlip::none;
  const std::string& text() const { return forward.text; }
};

struct Gradients {
  std::vector<OutputRow> q_rows, kv_rows;  // of dq; of dk and dv, `row` a key
  Evaluation dq, dk, dv;                   // `visible`: the weights that a row sums over; `lse`: the forward pass's in dq, nothing in the others, which have a `score_size`
  std::vector<std::uint8_t> q_spoilt, kv_spoilt;  // NaN is as good as the value: dead rows of the policy nan, and the keys of a sequence that has one
};

// The rows of `value` that belong to `groups`, as `reading` has them; padding aside. Several threads.
Gradients reference_gradients(const GradientReading& reading, const Case& value, const GradientOperands& operands, std::span<const KvHead> groups);

// Every intermediate number (scores, weights, dP, D, dS) rounded to the case's dtype, sums in float, those over the heads of a group too; in 8 bit, whose range
// is too small for them, to bf16.
Gradients naive_gradients(const GradientReading& reading, const Case& value, const GradientOperands& operands, std::span<const KvHead> groups);

// All groups when `limits` allow it, else some of them, always the first and the last. Deterministic.
std::vector<KvHead> sample_groups(const Case& value, std::uint64_t seed, const SampleLimits& limits);

// misreadings() and the slips that would show in this case; dout_strides shows where there is a dout_as_dense. Not of the strides of k and v: operands are
// copies here, which lie as they like.
std::vector<GradientReading> gradient_misreadings(const Case& value);

}  // namespace attn
