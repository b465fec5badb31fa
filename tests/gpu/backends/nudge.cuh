#pragma once
// Attention that is slightly wrong when told so.

#include "good.cuh"

namespace attn {

__global__ void attention_nudged(Attention a) { a.o.set(0, 0, 0, 0, a.o.get(0, 0, 0, 0) + 0.01); }

class Nudged : public Good {
 public:
  using Good::Good;
  void run(const attn_call& call, bool wrong) {
    Good::run(call);
    if (wrong) launch(attention_nudged, 1, 1, stream_of(call), "attention_nudged", a_);
  }
};

}  // namespace attn
