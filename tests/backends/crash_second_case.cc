// Answers the first case right and dies in the second: what was measured before stays.
// expect: suite=two_cases case=first status=ok exit=1
// expect: suite=two_cases case=second status=crashed reason="SIGSEGV"
// expect: suite=two_cases case=third status=ok exit=1
#include "damage.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    if (p_.seq_q == 5) attn::segfault();
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
