// Stops its own process in run, which then neither runs nor ends.
// expect: suite=plain status=timed_out seconds=12 reason="within 2 s"
#include <csignal>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) { std::raise(SIGSTOP); }
};
ATTN_BACKENDS(Mutant)
