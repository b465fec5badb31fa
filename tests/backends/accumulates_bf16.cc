// Rounds every intermediate number to bf16: sums over long rows stop growing (pytorch/pytorch#128922).
// expect: suite=long status=wrong reason="."
// expect: suite=rows case=^buried status=wrong reason="rows are off|the mean is"
// edges: ^long-sums => worst at
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  double rounded(double value) const override { return attn::bf16_to_float(attn::float_to_bf16(static_cast<float>(value))); }
};
ATTN_BACKENDS(Mutant)
