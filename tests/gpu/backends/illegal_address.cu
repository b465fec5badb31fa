// Writes through a bad pointer in one case of three. The context is lost with it: the other two need another process, and get one.
// expect: suite=three case=first status=failed reason="cudaErrorIllegalAddress"
// expect: suite=three case=second status=ok exit=1
// expect: suite=three case=third status=ok exit=1
#include "good.cuh"

__global__ void attention_astray(float* nowhere) { nowhere[threadIdx.x] = 1; }

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    if (a_.seq_q == 4) attn::launch(attention_astray, 1, 32, attn::stream_of(call), "attention_astray", reinterpret_cast<float*>(std::uintptr_t{1} << 20));
  }
};
ATTN_BACKENDS(Mutant)
