// Computes in bf16 what was asked in fp32.
// expect: suite=plain status=wrong reason="."
#include "good.cuh"

struct ToBf16 {
  __device__ double operator()(double value) const { return attn::widen(attn::narrow<__nv_bfloat16>(static_cast<float>(value))); }
};

__global__ void attention_in_bf16(attn::Attention a) {
  const std::int64_t element = attn::thread_index();
  if (element >= a.elements()) return;
  const attn::Element at(a, element);
  a.o.set(at.b, at.h, at.i, at.d, attn::attend_element(a, at, ToBf16{}));
}

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    attn::launch(attention_in_bf16, attn::divide_up(a_.elements(), kThreads), kThreads, attn::stream_of(call), "attention_in_bf16", a_);
  }
};
ATTN_BACKENDS(Mutant)
