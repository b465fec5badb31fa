// Reads k and v in the dtype of q, where one element is as long as the other.
// expect: suite=dtypes case=^mixed status=wrong reason="the dtype of k and v ignored"
// expect: suite=dtypes case=^dtype status=ok exit=1
// edges: ^formats-of-keys => the dtype of k and v ignored
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    if (attn::element_bytes(p_.dtype) == attn::element_bytes(p_.dtype_kv)) k_.dtype = v_.dtype = p_.dtype;
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
