// Asks for a workspace, fills it to its last byte, and is right to do so.
// expect: suite=plain status=ok check="row['memory']['workspace_bytes'] == 256"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  static attn::Support supports(const attn_problem&, const attn_device_facts&) { return {256}; }
  void run(const attn_call& call) {
    std::fill_n(static_cast<char*>(call.workspace), 256, '\1');
    Good::run(call);
  }
};
ATTN_BACKENDS(Mutant)
