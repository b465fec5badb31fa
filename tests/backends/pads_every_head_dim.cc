// Right, and copies Q, K and V to longer rows whatever head_dim is.
// expect: suite=odd_head_dim case=/d64/ status=ok verdict=regressed exit=1 verdict_reason="^copies 3, expected 0: 1 x pad_q of 1152 B, 1 x pad_k of 1728 B, 1 x pad_v of 1728 B$"
// expect: suite=odd_head_dim backend=known case=/d60/ status=ok exit=1 check="row['counts']['copies'] == {'low': 3, 'high': 3}"
// expect: suite=odd_head_dim backend=known case=/d64/ status=ok verdict=regressed exit=1 verdict_reason="^copies 3, expected 0: "
#include "pads.hpp"

struct Mutant : attn::Pads {
  using Pads::Pads;
  void run(const attn_call& call) {
    pad(call, (p_.head_dim / 8 + 1) * 8);
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
