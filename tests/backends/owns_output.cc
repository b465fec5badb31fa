// Answers in memory of its own, in another order of strides, as ATTN_FLAG_OWNS_OUTPUT allows.
// expect: suite=plain status=ok check="row['counts']['copies'] == {'low': 0, 'high': 0}"
// expect: suite=dtypes status=ok
// expect: suite=strided status=ok
#include "owned.hpp"

struct Mutant : attn::Owned {
  static constexpr attn::BackendInfo info{.name = "mutant", .can = kCan, .flags = ATTN_FLAG_REPORTS_OPS | ATTN_FLAG_OWNS_OUTPUT};
  using Owned::Owned;
};
ATTN_BACKENDS(Mutant)
