// Maps 64 KiB more in every call and never gives them back.
// expect: suite=memory gates=numerics,kernels,memory status=ok verdict=regressed exit=1 verdict_reason="grows by 65536 B"
// expect: suite=memory gates=numerics,memory status=ok verdict=regressed exit=1 verdict_reason="grow|call" check="row['memory']['growth_bytes'] >= 65536"
#include <sys/mman.h>

#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    void* const kept = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (kept != MAP_FAILED) std::fill_n(static_cast<char*>(kept), 1 << 16, '\1');
  }
};
ATTN_BACKENDS(Mutant)
