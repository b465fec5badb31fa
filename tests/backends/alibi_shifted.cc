// Biases by the key's place rather than by the distance: a row's scores move by one constant, which under causality
// changes nothing and may not be flagged.
// expect: suite=alibi case=causal status=ok exit=1
// expect: suite=alibi case=both_sides status=wrong reason="."
// edges: ^alibi => ALiBi by the key's place
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  double mask(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    if (!t_.alibi) return Good::mask(b, h, i, j);
    const double slope = static_cast<const float*>(t_.alibi->data)[h];
    return Good::mask(b, h, i, j) + slope * static_cast<double>(std::abs(i + offset(b) - j)) + slope * static_cast<double>(j);
  }
};
ATTN_BACKENDS(Mutant)
