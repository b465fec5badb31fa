// Copies q in every other call: calls that disagree are told as a range.
// expect: suite=counted status=ok verdict=regressed exit=1 verdict_reason="cop" check="row['counts']['copies'] == {'low': 0, 'high': 1}"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    if (calls_++ % 2) const attn::Op op(call, ATTN_OP_MEMCPY, "memcpy_q", 1024);
    Good::run(call);
  }

 private:
  int calls_ = 0;
};
ATTN_BACKENDS(Mutant)
