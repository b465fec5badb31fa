// Points its output at memory that it has given back: the process dies when the harness reads it, and the backend is blamed.
// expect: suite=plain status=crashed reason="SIGSEGV"
#include <sys/mman.h>

#include "owned.hpp"

struct Mutant : attn::Owned {
  static constexpr attn::BackendInfo info{.name = "mutant", .can = kCan, .flags = ATTN_FLAG_REPORTS_OPS | ATTN_FLAG_OWNS_OUTPUT};
  using Owned::Owned;
  void run(const attn_call& call) {
    Owned::run(call);
    void* const memory = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) munmap(memory, 1 << 20);
    call.tensors->o->data = memory;
  }
};
ATTN_BACKENDS(Mutant)
