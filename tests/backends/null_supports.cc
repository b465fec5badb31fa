// Its function `supports` is null.
// expect: suite=plain status=unsupported reason="function supports is null"
#include "damage.hpp"

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  static attn_backend table = attn::good_table();
  table.supports = nullptr;
  return attn::list_of(table);
}
