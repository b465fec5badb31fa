// Needs a function that nobody has, as when a library is older than the one it was built against.
// expect: suite=plain status=unsupported reason="a_function_that_nobody_has"
#include "good.hpp"

extern "C" void a_function_that_nobody_has();

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { a_function_that_nobody_has(); }
};
ATTN_BACKENDS(Mutant)
