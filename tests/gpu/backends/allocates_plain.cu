// Takes 1 MiB inside the call and gives it back there, for which the whole device waits: a hidden synchronisation.
// expect: suite=not_capturable status=ok check="row['counts']['allocations'] == {'low': 1, 'high': 1} and row['counts']['synchronisations'] == {'low': 1, 'high': 1} and row['memory']['peak_bytes'] >= 1 << 20 and row['memory']['growth_bytes'] == 0"
#include "good.cuh"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    const attn::DeviceArray scratch(1 << 20);
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
