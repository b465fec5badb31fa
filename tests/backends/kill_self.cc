// Is killed in run by a signal that nobody can catch, as by the kernel when memory runs out.
// expect: suite=plain status=crashed reason="SIGKILL"
#include <csignal>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { std::raise(SIGKILL); }
};
ATTN_BACKENDS(Mutant)
