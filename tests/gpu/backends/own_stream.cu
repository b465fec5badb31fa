// Launches on a stream of its own and returns at once: the clock would stop without waiting for the GPU (CASES R59).
// expect: suite=long status=wrong reason="stream does not wait for"
// expect: suite=long gates=numerics,latency status=wrong reason="stream does not wait for"
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { attend(own_.get()); }

 private:
  attn::SideStream own_;
};
ATTN_BACKENDS(Mutant)
