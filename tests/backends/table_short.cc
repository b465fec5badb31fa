// Its table ends before close, as one of an unfinished version would.
// expect: suite=plain status=unsupported reason="table is too small"
#include <cstddef>

#include "damage.hpp"

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  static attn_backend table = attn::good_table();
  table.struct_size = offsetof(attn_backend, close);
  return attn::list_of(table);
}
