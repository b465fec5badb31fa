// Right, with a workspace for all scores at once: a fused kernel needs none, and this one grows with the square of the length.
// expect: suite=slope gates=numerics,memory case=q32[.] status=ok exit=1
// expect: suite=slope gates=numerics,memory case=q(64|128)[.] status=ok verdict=regressed exit=1 verdict_reason="^peak_bytes [0-9]+ at seq (32|64), [0-9]+ at (64|128): it grows with seq to the power 1[.][89][0-9], expected at most 1$" check="'--filter' in row['reproduce'] and row['reproduce'].count('--filter') == 2"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem& problem, const attn_device_facts&) { return {static_cast<std::uint64_t>(4 * problem.seq_q * problem.seq_kv)}; }
};
ATTN_BACKENDS(Mutant)
