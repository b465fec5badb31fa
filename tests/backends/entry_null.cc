// Its list holds a null pointer.
// expect: suite=plain status=unsupported reason="table is null"
#include "damage.hpp"

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  static const attn_backend* const tables[] = {nullptr};
  static const attn_backend_list list{sizeof(attn_backend_list), ATTN_ABI_VERSION, 1, 0, tables};
  return &list;
}
