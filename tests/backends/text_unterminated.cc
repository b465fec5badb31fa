// Fills the whole text buffer and writes no closing NUL.
// expect: suite=plain status=failed reason="xxxx$"
#include "damage.hpp"

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  static attn_backend table = attn::good_table();
  table.run = [](void*, const attn_call*, attn_text* why) -> attn_status {
    std::fill_n(why->data, why->size, 'x');
    return ATTN_FAILED;
  };
  return attn::list_of(table);
}
