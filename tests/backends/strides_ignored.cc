// Computes the addresses of k and v from the shape, whatever their strides (pytorch/pytorch#112577).
// expect: suite=strided status=wrong reason="."
// expect: suite=plain status=ok
// edges: ^strides => the strides of k and v ignored
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    for (attn::View* view : {&k_, &v_}) {
      const std::int64_t size = view == &k_ ? p_.head_dim : p_.head_dim_v;
      const std::int64_t dense[] = {p_.heads_kv * p_.seq_kv * size, p_.seq_kv * size, size, 1};
      std::copy_n(dense, 4, view->strides);
    }
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
