// The mean that a dead row gets counts the keys of the padded size, not those that the sequence has.
// expect: suite=dead_rows status=ok
// edges: ^lengths-dead => worst at
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void dead_row(std::int64_t b, std::int64_t h, std::int64_t i, std::vector<double>& row) const override {
    if (i >= queries(b) || p_.dead_rows != ATTN_DEAD_MEAN) return Good::dead_row(b, h, i, row);
    for (std::int64_t j = 0; j < keys(b); ++j) add(row, b, h, j, 1.0 / static_cast<double>(p_.seq_kv));
    write(b, h, i, row);
  }
};
ATTN_BACKENDS(Mutant)
