// Throws something that is no std::exception; the border of attn_kernel.hpp holds.
// expect: suite=plain status=failed reason="not a std::exception"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { throw 17; }
};
ATTN_BACKENDS(Mutant)
