// Writes the first half of every row.
// expect: suite=plain status=wrong reason="not written|never written|unwritten"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void write(std::int64_t b, std::int64_t h, std::int64_t i, const std::vector<double>& row) const override {
    for (std::int64_t d = 0; d < p_.head_dim_v / 2; ++d) o_.set(b, h, i, d, row[static_cast<std::size_t>(d)]);
  }
};
ATTN_BACKENDS(Mutant)
