// Sets the strides of its output to null.
// expect: suite=plain status=failed|wrong|crashed reason="gave o no strides"
#include "owned.hpp"

struct Mutant : attn::Owned {
  static constexpr attn::BackendInfo info{.name = "mutant", .can = kCan, .flags = ATTN_FLAG_REPORTS_OPS | ATTN_FLAG_OWNS_OUTPUT};
  using Owned::Owned;
  void run(const attn_call& call) {
    Owned::run(call);
    call.tensors->o->strides = nullptr;
  }
};
ATTN_BACKENDS(Mutant)
