// Gives 0 for rows that see no key, whatever is asked.
// expect: suite=dead_rows case=zero status=ok exit=1
// expect: suite=dead_rows case=nan status=wrong reason="dead rows zero instead of nan"
// expect: suite=dead_rows case=mean status=wrong reason="dead rows zero instead of mean"
// edges: ^dead => dead rows zero instead of nan
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    p_.dead_rows = ATTN_DEAD_ZERO;
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
