// Returns a list of no backends.
// expect: suite=plain status=unsupported reason="holds no backend"
#include "damage.hpp"

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  static attn_backend table = attn::good_table();
  static attn_backend_list list = *attn::list_of(table);
  list.count = 0;
  return &list;
}
