// Leaves a process behind in another session that holds every descriptor open: the run must not wait for it.
// expect: suite=plain status=ok seconds=12
#include <unistd.h>

#include "good.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    if (fork() == 0) {
      setsid();
      sleep(30);
      _exit(0);
    }
  }
};
ATTN_BACKENDS(Mutant)
