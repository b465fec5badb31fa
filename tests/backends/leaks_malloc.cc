// Keeps 4 KiB more after every call.
// expect: suite=memory gates=numerics,kernels,memory status=ok verdict=regressed exit=1 verdict_reason="grows by 4[0-9]+ B"
// expect: suite=memory gates=numerics,memory status=ok verdict=regressed exit=1 verdict_reason="grow|call" check="row['memory']['growth_bytes'] >= 4096"
#include <cstdlib>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    void* volatile kept = std::malloc(4096);
    if (kept) std::fill_n(static_cast<char*>(kept), 4096, '\1');
  }
};
ATTN_BACKENDS(Mutant)
