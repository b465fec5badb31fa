// Fills a cache of its own in the first calls and then rests: no leak.
// expect: suite=memory gates=numerics,memory status=ok check="row['memory']['growth_bytes'] in (0, None)"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    Good::run(call);
    if (cache_.size() < 3) cache_.emplace_back(1 << 16);
  }

 private:
  std::vector<std::vector<double>> cache_;
};
ATTN_BACKENDS(Mutant)
