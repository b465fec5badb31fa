// Reports an operation without a name and one with a name of a megabyte.
// expect: suite=plain status=ok check="row['counts']['kernels'] == {'low': 3, 'high': 3}"
#include "good.hpp"

struct Mutant : attn::Good {
  using Good::Good;
  void run(const attn_call& call) {
    { const attn::Op op(call, ATTN_OP_KERNEL, nullptr); }
    { const attn::Op op(call, ATTN_OP_KERNEL, long_.c_str()); }
    Good::run(call);
  }

 private:
  std::string long_ = std::string(1 << 20, 'k');
};
ATTN_BACKENDS(Mutant)
