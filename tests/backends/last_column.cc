// The last column is off where head_dim passes 64 and is no multiple of 8.
// expect: suite=plain status=ok
// edges: ^head-dims-odd => worst at
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void write(std::int64_t b, std::int64_t h, std::int64_t i, const std::vector<double>& row) const override {
    std::vector<double> bent = row;
    if (p_.head_dim > 64 && p_.head_dim % 8 != 0) bent.back() *= 1.01;
    Good::write(b, h, i, bent);
  }
};
ATTN_BACKENDS(Mutant)
