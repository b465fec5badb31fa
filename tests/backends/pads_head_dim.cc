// Right, and copies Q, K and V to longer rows where head_dim is no multiple of 8 (pytorch/pytorch#108183).
// expect: suite=odd_head_dim case=/d60/ status=ok verdict=regressed exit=1 verdict_reason="^copies 3, expected 0: 1 x pad_q of 1024 B, 1 x pad_k of 1536 B, 1 x pad_v of 1536 B$"
// expect: suite=odd_head_dim case=/d64/ status=ok exit=1 check="row['counts']['copies'] == {'low': 0, 'high': 0}"
// expect: suite=odd_head_dim backend=known status=ok exit=1
// edges: ^odd-head-dim => ^copies 3, expected 0: 1 x pad_. of 8448 B
#include "pads.hpp"

struct Mutant : attn::Pads {
  using Pads::Pads;
  void run(const attn_call& call) {
    if (p_.head_dim % 8 != 0) pad(call, (p_.head_dim + 7) / 8 * 8);
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
