// Multiplies keys of the padding by a weight of 0 rather than leaving them out: 0 * NaN is NaN.
// expect: suite=lengths case=poisoned status=wrong reason="reads the padding"
// expect: suite=lengths case=plain status=ok exit=1
// expect: suite=causal status=ok
// edges: ^lengths => reads the padding
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void add(std::vector<double>& row, std::int64_t b, std::int64_t h, std::int64_t j, double weight) const override {
    for (std::int64_t d = 0; d < p_.head_dim_v; ++d) row[static_cast<std::size_t>(d)] += weight * v_.get(b, kv_head(h), j, d);
  }
};
ATTN_BACKENDS(Mutant)
