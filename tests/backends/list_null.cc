// Returns no list.
// expect: suite=plain status=unsupported reason="no backend list"
#include "damage.hpp"

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  return nullptr;
}
