// Gives NaN for query rows of the padding.
// expect: suite=lengths status=wrong reason="not finite"
// edges: ^lengths => not finite
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void write(std::int64_t b, std::int64_t h, std::int64_t i, const std::vector<double>& row) const override {
    Good::write(b, h, i, i < queries(b) ? row : std::vector<double>(row.size(), std::numeric_limits<double>::quiet_NaN()));
  }
};
ATTN_BACKENDS(Mutant)
