#pragma once
// A backend's C table, checked before it is believed.

#include <cstddef>
#include <cstdint>
#include <string>

#include "abi/attn_abi.h"
#include "core/case.hpp"
#include "core/records.hpp"

namespace attn {

// Why the list cannot be used at all ("built for ABI 3, this engine speaks 1"); empty when it can.
std::string list_fault(const attn_backend_list* list);
// Why a table cannot be used (too small, a null function); empty when it can.
std::string table_fault(const attn_backend* table);
// Whether a table, which may be of an older and shorter kind, has this member and it is not null.
template <class Member>
bool has(const attn_backend& table, Member attn_backend::*member) {
  const auto end = reinterpret_cast<const char*>(&(table.*member) + 1) - reinterpret_cast<const char*>(&table);
  return table.struct_size >= static_cast<std::size_t>(end) && table.*member;
}
// Why a problem is refused whose needs are `missing` (ATTN_CAN_*) in the table.
std::string refusal(const attn_backend& table, std::uint64_t missing);
BackendFacts backend_facts(const attn_backend& table);
// The table of `name` for a kind of device (attn_device_type). Throws Error that lists the names there are; also when the name stands twice.
const attn_backend& find_backend(const attn_backend_list& list, const std::string& name, std::int32_t device_type);

// `value` as the ABI asks it; `id` must outlive the result.
attn_problem make_problem(const Case& value, const std::string& id, std::uint64_t seed);

}  // namespace attn
