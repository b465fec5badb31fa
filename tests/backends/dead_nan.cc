// Gives NaN for rows that see no key, whatever is asked (pytorch/pytorch#103749).
// expect: suite=dead_rows case=zero status=wrong reason="dead rows nan instead of zero"
// expect: suite=dead_rows case=nan status=ok exit=1
// expect: suite=dead_rows case=mean status=wrong reason="."
// edges: ^dead => dead rows nan instead of zero
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    p_.dead_rows = ATTN_DEAD_NAN;
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
