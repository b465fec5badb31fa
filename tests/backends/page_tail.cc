// Reads every page to its end, also behind the last key of a sequence.
// expect: suite=rows_and_pages case=tail status=wrong reason="reads places of pages that hold no key of the sequence"
// expect: suite=rows_and_pages case=filled status=ok exit=1
// expect: suite=plain status=ok
// edges: ^paged => places of pages that hold no key
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  std::int64_t keys(std::int64_t b) const override {
    const std::int64_t keys = Good::keys(b);
    return p_.page_size > 0 ? (keys + p_.page_size - 1) / p_.page_size * p_.page_size : keys;
  }
};
ATTN_BACKENDS(Mutant)
