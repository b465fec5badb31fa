// Uses more workspace than it asked for.
// expect: suite=plain status=wrong reason="64 bytes after the end of the workspace"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem&, const attn_device_facts&) { return {64}; }
  void run(const attn_call& call) {
    std::fill_n(static_cast<char*>(call.workspace), 128, '\1');
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
