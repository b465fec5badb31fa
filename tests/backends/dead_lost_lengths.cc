// The kernels for lengths, ragged rows and pages give zeros for rows that see no key, whatever is asked.
// expect: suite=plain status=ok
// expect: suite=dead_rows status=ok
// edges: ^(lengths|pages)-dead => dead rows zero instead of
#include "good.hpp"

struct Mutant : attn::Good {
  Mutant(const attn_problem& problem, const attn_tensors& tensors, const attn_device_facts& device, const attn::Options& options)
      : Good(problem, tensors, device, options) {
    if (t_.lengths_kv || t_.starts_kv || t_.page_table) p_.dead_rows = ATTN_DEAD_ZERO;
  }
};
ATTN_BACKENDS(Mutant)
