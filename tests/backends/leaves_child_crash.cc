// Leaves a process behind that holds every descriptor open, then dies: the death must be seen at once, not when the other process ends.
// expect: suite=plain status=crashed reason="SIGSEGV" seconds=12
#include <unistd.h>

#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) {
    if (fork() == 0) {
      setsid();
      sleep(30);
      _exit(0);
    }
    attn::segfault();
  }
};
ATTN_BACKENDS(Mutant)
