// Answers right and leaves the process in another state: directory, file mask, signal handlers, rounding mode. Nothing of that may reach the judgement.
// expect: suite=dtypes status=ok
#include <cfenv>
#include <csignal>
#include <sys/stat.h>
#include <unistd.h>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    if (chdir("/") != 0) return;
    umask(0777);
    for (int number = 1; number < SIGRTMAX; ++number)
      if (number != SIGKILL && number != SIGSTOP) std::signal(number, SIG_IGN);
    std::fesetround(FE_UPWARD);
  }
};
ATTN_BACKENDS(Mutant)
