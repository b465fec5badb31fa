// Never returns from the forward call that a backward pass alone needs first: a call, under the deadline of a call, and no part of `open`.
// expect: suite=backward case=^deterministic status=timed_out seconds=15 reason="within 2 s in phase bare"
// expect: suite=backward case=^grouped status=ok exit=1
#include "damage.hpp"
#include "trained.hpp"

struct Mutant : attn::Trained {
  using Trained::Trained;
  void run(const attn_call& call) {
    if (call.pass == ATTN_CALL_FORWARD) attn::sleep_for_ever();
    Trained::run(call);
  }
};
ATTN_BACKENDS(Mutant)
