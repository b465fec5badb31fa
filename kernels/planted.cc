// needs: openblas
// Backends with a known fault, for the self-test of the gates: each is right, and each is worse than `naive` in one way that a gate must name.
//   planted.copy   the scores are copied once more: one memcpy more, same kernels
//   planted.slow   cpu_softmax does more work, about `extra` (default 100%) of what the whole call does: one operation's time, same counts
//   planted.delay  the host sleeps `delay_us` (default 1300) before the first operation: host time and span, no operation slower
//   planted.path   the math route: other kernels, under another name
// Try: attn-regress run SUITE --plugin naive=build/lib/attn-regress/libplanted.so:planted.copy

#include "chain.hpp"

static constexpr attn::BackendInfo planted_info(const char* name) {
  return {.name = name, .can = attn::Chain::kCan, .flags = ATTN_FLAG_REPORTS_OPS, .version = attn::kBlasVersion.data()};
}

#include "planted.hpp"

ATTN_BACKENDS(Copy, Slow, Late, Path)
