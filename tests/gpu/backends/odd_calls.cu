// Is wrong in the calls in which even_calls is right.
// expect: suite=plain status=wrong reason="."
#include "nudge.cuh"

struct Mutant : attn::Nudged {
  using Nudged::Nudged;
  void run(const attn_call& call) { Nudged::run(call, calls_++ % 2 == 1); }

 private:
  std::int64_t calls_ = 0;
};
ATTN_BACKENDS(Mutant)
