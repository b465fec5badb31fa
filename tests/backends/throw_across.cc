// A table written by hand whose run lets an exception out through the C border.
// expect: suite=plain status=crashed reason="SIGABRT"
#include <stdexcept>

#include "damage.hpp"

static attn_status run(void*, const attn_call*, attn_text*) { throw std::runtime_error("an exception left run"); }

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  static attn_backend table = attn::good_table();
  table.run = run;
  return attn::list_of(table);
}
