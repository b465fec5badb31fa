// Its list ends before the backends.
// expect: suite=plain status=unsupported reason="too small: 8 bytes"
#include "damage.hpp"

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  static attn_backend table = attn::good_table();
  static attn_backend_list list = *attn::list_of(table);
  list.struct_size = 8;
  return &list;
}
