// Calls itself in run until the stack is used up.
// expect: suite=plain status=crashed reason="SIGSEGV"
#include "good.hpp"

namespace {

volatile bool enough = false;  // no compiler proves that it stays so

[[gnu::noinline]] int deeper(int depth) {
  volatile char here[4096];
  here[0] = static_cast<char>(depth);
  return enough ? depth : deeper(depth + 1) + here[0];
}

}  // namespace

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { p_.batch = deeper(0); }
};
ATTN_BACKENDS(Mutant)
