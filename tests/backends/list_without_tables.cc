// Says that there is a backend and points at none.
// expect: suite=plain status=unsupported reason="list is null"
#include "damage.hpp"

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  static attn_backend table = attn::good_table();
  static attn_backend_list list = *attn::list_of(table);
  list.backends = nullptr;
  return &list;
}
