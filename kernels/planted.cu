// needs: cublaslt
// Backends with a known fault, for the self-test of the gates: each is right, and each is worse than `naive` in one way that a gate must name.
//   planted.copy   the scores are copied once more: one memcpy more, same kernels
//   planted.slow   attn_chain_softmax does more work, for about `extra` (default 100%) of the call's time: one kernel's time, same counts
//   planted.delay  the host sleeps `delay_us` (default 1300) before the first kernel: host time and span, no kernel slower
//   planted.path   the math route: other kernels, under another name
// Try: attn-regress run SUITE --plugin naive=build/lib/attn-regress/libplanted_cuda.so:planted.copy

#include "chain.cuh"

static constexpr attn::BackendInfo planted_info(const char* name) {
  return {.name = name, .can = attn::Chain::kCan, .device_type = ATTN_DEVICE_CUDA, .version = attn::lt_version};
}

#include "planted.hpp"

ATTN_BACKENDS(Copy, Slow, Late, Path)
