// Computes where no kernel is seen and copies there and back: right numbers, no attention kernel (ggml-org/llama.cpp#28455).
// expect: suite=plain status=ok verdict=regressed exit=1 verdict_reason="kernel_path none"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    { const attn::Op op(call, ATTN_OP_MEMCPY, "DtoH", 1024); }
    attend();
    { const attn::Op op(call, ATTN_OP_MEMCPY, "HtoD", 1024); }
  }
};
ATTN_BACKENDS(Mutant)
