// Holds two backends of one name.
// expect: suite=plain status=unsupported reason="twice"
#include "damage.hpp"

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  static attn_backend table = attn::good_table();
  static const attn_backend* const tables[] = {&table, &table};
  static const attn_backend_list list{sizeof(attn_backend_list), ATTN_ABI_VERSION, 2, 0, tables};
  return &list;
}
