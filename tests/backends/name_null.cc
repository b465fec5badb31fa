// Has no name.
// expect: suite=plain status=unsupported reason="no name"
#include "damage.hpp"

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  static attn_backend table = attn::good_table();
  table.name = nullptr;
  return attn::list_of(table);
}
