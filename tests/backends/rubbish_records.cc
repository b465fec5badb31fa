// Answers right and writes bytes that are no record to descriptor 4, where a worker starts with its records: they may not reach the parent.
// expect: suite=plain status=ok
#include <unistd.h>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    if (::write(4, "{\"record\":\"\xff\x1b[31mFORGED\n\n[]\n", 28) < 0) errors_ = true;
    Good::run(call);
  }

 private:
  bool errors_ = false;
};
ATTN_BACKENDS(Mutant)
