// Writes to address 8 when it is asked for its backends.
// expect: suite=plain status=crashed reason="SIGSEGV.*while loading"
#include "damage.hpp"

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  attn::segfault();
  return nullptr;
}
