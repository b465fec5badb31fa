// Pads head_dim to a multiple of 8 and takes the scale of the padded one (pytorch/pytorch#108183).
// expect: suite=padded status=wrong reason="head_dim padded to 8"
// expect: suite=plain status=ok
// edges: ^p3-scale => head_dim padded to
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    p_.scale = 1 / std::sqrt(static_cast<double>((p_.head_dim + 7) / 8 * 8));
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
