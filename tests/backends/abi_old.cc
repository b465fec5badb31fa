// Was built for an ABI before this one.
// expect: suite=plain status=unsupported reason="ABI version 0"
#include "damage.hpp"

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  static attn_backend table = attn::good_table();
  static attn_backend_list list = *attn::list_of(table);
  list.abi_version = 0;
  return &list;
}
