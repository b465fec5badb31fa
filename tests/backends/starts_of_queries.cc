// Takes the starts of the queries for the keys', which is right where both have the same lengths.
// expect: suite=rows_and_pages case=ragged status=wrong reason="the starts of the queries taken for the keys'"
// expect: suite=plain status=ok
// edges: ^ragged => the starts of the queries taken
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    for (attn::View* view : {&k_, &v_})
      if (view->starts) view->starts = t_.starts_q;
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
