// Fails in run without a reason.
// expect: suite=plain status=failed reason="run: no reason given"
#include "damage.hpp"

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  static attn_backend table = attn::good_table();
  table.run = [](void*, const attn_call*, attn_text*) -> attn_status { return ATTN_FAILED; };
  return attn::list_of(table);
}
