// Rows past some index get the weights of a key too few, finite and plausible, as where a row's offset wraps (pytorch/pytorch#187227).
// expect: suite=rows case=^rows status=wrong reason="only from row 300 on"
// expect: suite=rows case=^buried status=wrong reason="row 3.* of 311 checked rows are off"
// expect: suite=plain status=ok
// edges: ^last-rows => only from row 300 on
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  bool sees(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const override { return (i < 300 || j != 0) && Good::sees(b, h, i, j); }
};
ATTN_BACKENDS(Mutant)
