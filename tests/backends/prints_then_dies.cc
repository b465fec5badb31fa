// Prints terminal escapes and dies: the tail of what it printed is shown, harmless.
// expect: suite=plain status=crashed reason="SIGABRT" output="last words.*\x1b\[31mFORGED"
#include <cstdio>
#include <cstdlib>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) {
    std::fputs("last words \x1b[31mFORGED\x1b[0m\n::error::FORGED\n\xff\xfe\xc3(", stderr);
    std::abort();
  }
};
ATTN_BACKENDS(Mutant)
