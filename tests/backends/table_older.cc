// Was built against an earlier header, whose table ends with close: what lies behind it is not read.
// expect: suite=mask status=unsupported reason="cannot do: \\w+ mask$"
// expect: suite=plain status=ok
#include <cstddef>

#include "damage.hpp"

extern "C" ATTN_EXPORT const attn_backend_list* attn_backends(void) {
  static attn_backend table = attn::good_table();
  table.can &= ~(ATTN_CAN_MASK_BOOL | ATTN_CAN_MASK_ADDITIVE);
  table.struct_size = offsetof(attn_backend, why_not_bits);
  table.why_not_bits = ~std::uint64_t{0};
  table.why_not = reinterpret_cast<const char*>(8);
  return attn::list_of(table);
}
