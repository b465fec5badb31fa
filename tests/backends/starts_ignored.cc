// Looks for every sequence's keys at the first token, as if the starts of the keys were zeros.
// expect: suite=rows_and_pages case=ragged status=wrong reason="the starts of the keys ignored"
// expect: suite=rows_and_pages case=filled status=ok exit=1
// expect: suite=plain status=ok
// edges: ^ragged => the starts of the keys ignored
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    for (attn::View* view : {&k_, &v_}) view->starts = nullptr;  // a ragged tensor's stride of batch is 0
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
