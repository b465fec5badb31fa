// Hangs in run and prints without end: the deadline counts all the same, and the parent does not keep it all.
// expect: suite=plain status=timed_out seconds=12 reason="within 2 s" check="len(row['output']) <= 65536"
#include <unistd.h>

#include <string>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call&) {
    const std::string line(4095, '#');
    for (;;)
      if (::write(STDOUT_FILENO, (line + '\n').c_str(), line.size() + 1) < 0) usleep(1000);
  }
};
ATTN_BACKENDS(Mutant)
