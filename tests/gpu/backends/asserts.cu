// Fails an assertion on the device in one case of three. What the driver prints of it is kept.
// expect: suite=three case=first status=failed reason="cudaErrorAssert" output="Assertion .*keys != 4"
// expect: suite=three case="second|third" status=ok exit=1
#undef NDEBUG
#include <cassert>

#include "good.cuh"

__global__ void attention_asserts(std::int64_t keys) { assert(keys != 4); }

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    attn::launch(attention_asserts, 1, 1, attn::stream_of(call), "attention_asserts", a_.seq_kv);
  }
};
ATTN_BACKENDS(Mutant)
