// Returns a status from run that is none.
// expect: suite=plain status=failed reason="unknown status 77"
#include "damage.hpp"

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  static attn_backend table = attn::good_table();
  table.run = [](void*, const attn_call*, attn_text*) -> attn_status { return 77; };
  return attn::list_of(table);
}
