// Hangs in run and ignores every signal that can be ignored.
// expect: suite=plain status=timed_out seconds=12 reason="within 2 s"
#include <csignal>

#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) {
    for (int number = 1; number < SIGRTMAX; ++number)
      if (number != SIGKILL && number != SIGSTOP) std::signal(number, SIG_IGN);
    attn::sleep_for_ever();
  }
};
ATTN_BACKENDS(Mutant)
