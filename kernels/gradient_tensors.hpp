#pragma once
// The tensors of a backward pass on the CPU, wherever they lie.

#include <stdexcept>

#include "rows.hpp"

namespace attn {

// Nothing in a forward pass.
struct GradientTensors {
  GradientTensors(const attn_problem& problem, const attn_tensors& tensors) {
    if (problem.pass == ATTN_FORWARD) return;
    if (!tensors.dout || !tensors.dq || !tensors.dk || !tensors.dv) throw std::runtime_error("a backward pass needs dout, dq, dk and dv");
    if (problem.page_size > 0) throw Unsupported("keys in pages have no gradient");
    dout = Strided::of_queries(*tensors.dout, problem, tensors);
    dq = Strided::of_queries(*tensors.dq, problem, tensors);
    dk = Strided::of_keys(*tensors.dk, problem, tensors);
    dv = Strided::of_keys(*tensors.dv, problem, tensors);
  }
  Strided dout, dq, dk, dv;
};

}  // namespace attn
