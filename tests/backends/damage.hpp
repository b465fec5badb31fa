#pragma once
// What several misbehaving backends do: die, hang, and hand out a table that they changed by hand.

#include <unistd.h>

#include "good.hpp"

namespace attn {

// The address is read at run time, so that no compiler proves the fault and leaves it out.
inline void segfault() {
  volatile std::uintptr_t address = 8;
  *reinterpret_cast<volatile int*>(address) = 1;
}

inline void sleep_for_ever() {
  for (;;) pause();
}

// A correct table, to be changed before it is handed out.
inline attn_backend good_table() { return detail::Table<Good>::value; }

inline const attn_backend_list* list_of(const attn_backend& table) {
  static const attn_backend* const tables[] = {&table};
  static const attn_backend_list list{sizeof(attn_backend_list), ATTN_ABI_VERSION, 1, 0, tables};
  return &list;
}

}  // namespace attn
